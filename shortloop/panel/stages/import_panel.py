"""Import of a file of rows as columns, with the rows of each group one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import File, Finished, Outputs, Stage

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ImportPanel"]


class ImportPanel(Stage):
    """Import: a file of rows to columns, group by group."""

    settings: dict[str, object]  # of the format; where the file is is no part of it
    file: File | None
    by: list[str]
    blocks: int
    seed: int  # of a simulated panel

    def finish(self, out: Outputs) -> Finished:
        from shortloop.panel.data import from_frame
        from shortloop.panel.stages.panel_files import imported

        return imported(from_frame(self._read(), self.by, self.blocks), self.file)

    def _read(self) -> pd.DataFrame:
        from shortloop.panel.formats.base import FileInput, GeneratedInput, PanelInput

        settings = PanelInput.model_validate(self.settings)
        if isinstance(settings, GeneratedInput):
            return settings.generate(self.seed)
        assert isinstance(settings, FileInput)
        assert self.file is not None
        frame = settings.read(self.file.path)
        settings.check_groups(self.file.path, frame, self.by)
        return frame
