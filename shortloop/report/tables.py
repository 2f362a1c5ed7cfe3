"""Write tables as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from shortloop.base.text import one_line

__all__ = ["csv_text"]

Cell = str | float | int | bool | None


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table as text."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow([one_line(column) for column in columns])
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{len(row)} cells in a table of {len(columns)} columns: {row!r}")
        writer.writerow([_shown(cell) for cell in row])
    return stream.getvalue()


def _shown(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return repr(float(cell)) if isinstance(cell, float) else one_line(cell)
