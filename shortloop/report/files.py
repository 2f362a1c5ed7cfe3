"""How the files of a report are called."""

from __future__ import annotations

__all__ = ["FIGURES", "FORMATS", "REPORT", "TABLES"]

REPORT = "report.html"
FIGURES = "figures"
"""The folder of the figures, beside the page."""
FORMATS = ("png", "pdf", "svg")
"""What each figure is saved as."""
TABLES = "tables"
"""The folder of tables as text, beside the page."""
