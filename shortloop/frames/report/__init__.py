"""The report: a table of what was measured, figures, and advice drawn from it."""
