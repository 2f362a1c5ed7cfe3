"""Diagnostics of fits: numbers of each row, ranking of groups, and pages of plots."""

DIAGNOSTICS = "diagnostics"
"""The folder of PDF files of pages, beside the page of the report."""
PAGES = "diagnostics.pdf"
"""The file of a job that draws pages."""
