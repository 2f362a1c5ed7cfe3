"""Numbers of rows in their file, apart from blocks and fits."""

from __future__ import annotations

from shortloop.stages.stage import Finished, Job, Outputs, Stage, Values


class RowNumbers(Stage):
    """Row numbers: places of each group's rows in the file."""

    panel: Job

    def is_small(self) -> bool:
        return True

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        from shortloop.panel.stages.panel_files import load_panel

        panel = load_panel(self.panel)
        kind = np.int32 if panel.source_rows < 2**31 - 1 else np.int64
        numbers = Values((panel.origins() + 1).astype(kind), "rows", "number in the file, from 1")
        starts = Values(panel.starts, "bounds of groups", "first row of each group, and the end of the last")
        return Finished({"keys": [list(key) for key in panel.keys]}, {"numbers": numbers, "starts": starts})
