"""A dataset of exax to columns, with the rows of each group one after the other."""

from __future__ import annotations

from shortloop.stages.dataset import Dataset
from shortloop.stages.stage import Finished, Outputs, Stage

__all__ = ["ImportDataset"]


class ImportDataset(Stage):
    """Import: a dataset of exax to columns, group by group."""

    rows: Dataset
    by: list[str]
    blocks: int
    columns: list[str]  # empty: all
    order: str  # column that says in which order they were; empty: by their values

    def finish(self, out: Outputs) -> Finished:
        """Read, and put rows of one group together."""
        from shortloop.panel.data import from_frame
        from shortloop.panel.dataset import frame_of
        from shortloop.panel.stages.panel_files import imported

        return imported(from_frame(frame_of(self.rows, self.columns, self.order), self.by, self.blocks))
