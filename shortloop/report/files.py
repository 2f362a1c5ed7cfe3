"""File names of a report."""

from __future__ import annotations

from typing import Literal, get_args

REPORT = "report.html"
FIGURES = "figures"  # the folder of the figures, beside the page
FigureFormat = Literal["png", "pdf", "svg"]
FORMATS: tuple[FigureFormat, ...] = get_args(FigureFormat)  # what a figure can be saved as; a page needs PNG
TABLES = "tables"  # the folder of tables as text, beside the page
