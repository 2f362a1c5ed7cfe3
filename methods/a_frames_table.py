"""The table of a comparison of data frames, as Parquet files."""

from __future__ import annotations

from collections.abc import Mapping

from shortloop.exax.method import exax_method
from shortloop.stages.stage import Finished, Outputs, Stage


class FramesTable(Stage):
    """Table: simulated, part by part."""

    rows: int
    columns: int
    groups: int
    chunk: int  # rows of a part, at most
    seed: int

    def open(self) -> None:
        """Divide rows into parts."""
        from shortloop.frames.table import rows_of_parts

        self._rows = rows_of_parts(self.rows, self.chunk)

    def units(self) -> list[float]:
        """The parts."""
        return [float(rows) for rows in self._rows]

    def compute(self, unit: int) -> Mapping[str, bytes]:
        """One part."""
        from shortloop.frames.table import part_bytes
        from shortloop.frames.transformations import FOLDER, file_name

        content = part_bytes(self.seed, unit, self._rows[unit], self.columns, self.groups)
        return {f"{FOLDER}/{file_name(unit)}": content}

    def finish(self, out: Outputs) -> Finished:
        """Describe the parts."""
        from shortloop.frames.table import column_names

        columns = list(column_names(self.columns))
        return Finished({"rows": list(self._rows), "columns": columns, "groups": self.groups})


globals().update(exax_method(FramesTable, __file__))
