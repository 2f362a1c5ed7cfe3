"""Diagnostics of fits: numbers of each row, ranking of groups, and pages of plots."""

DIAGNOSTICS = "diagnostics"  # the folder of PDF files of pages, beside the page of the report
BY_NAME = "chosen by name"  # why a page shows a group
PAGES = "diagnostics.pdf"  # the file of a job that draws pages
