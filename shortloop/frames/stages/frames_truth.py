"""What is right: the column x, and aggregates counted in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = ["FramesTruth"]


class FramesTruth(Stage):
    """Truth: what every library must come to."""

    table: Job

    def finish(self, out: Outputs) -> Finished:
        """Read the table once."""
        import numpy as np

        from shortloop.frames.check import true_aggregates
        from shortloop.frames.stages.table_files import work_of
        from shortloop.frames.stages.table_rows import parts_of

        work, x = work_of(self.table, "", 1, 0), []

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
