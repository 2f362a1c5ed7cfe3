"""The column x of a table, and its aggregates computed in integers: the expected results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.exax.method import exax_method
from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np


class FramesTruth(Stage):
    """Truth: the expected results of all libraries."""

    table: Job

    def finish(self, out: Outputs) -> Finished:
        """Read the table once."""
        import numpy as np

        from shortloop.frames.table import parts_of, true_aggregates
        from shortloop.frames.transformations import Work

        work, x = Work.on(self.table), []

        def parts() -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
            for keys, columns in parts_of(work):
                x.append(columns[0])
                yield keys, columns

        true = true_aggregates(parts(), work.groups)
        return Finished(
            {"columns": list(work.columns)},
            {
                "x": Values(np.concatenate(x), "rows", "the column x"),
                "counts": Values(true.counts, "groups", "rows of each group"),
                "sums": Values(true.sums, "groups × columns", "sum of each column but the key"),
            },
            coordinates={"columns": "columns"},
        )


globals().update(exax_method(FramesTruth, __file__))
