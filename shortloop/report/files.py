"""File names of a report."""

from __future__ import annotations

from typing import Literal, get_args

REPORT = "report.html"
FIGURES = "figures"
"""The folder of the figures, beside the page."""
FigureFormat = Literal["png", "pdf", "svg"]
FORMATS: tuple[FigureFormat, ...] = get_args(FigureFormat)
"""What a figure can be saved as; a page needs PNG."""
TABLES = "tables"
"""The folder of tables as text, beside the page."""
