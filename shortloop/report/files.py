"""How the files of a report are called."""

from __future__ import annotations

__all__ = ["FIGURES", "REPORT"]

REPORT = "report.html"
FIGURES = "figures"
"""The folder of the figures, beside the page."""
