"""How files of pages of groups are called."""

from __future__ import annotations

__all__ = ["DIAGNOSTICS", "PAGES"]

DIAGNOSTICS = "diagnostics"
"""The folder of them, beside the page of the report."""
PAGES = "diagnostics.pdf"
"""The file of a job that draws them."""
