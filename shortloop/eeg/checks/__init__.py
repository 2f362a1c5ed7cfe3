"""Checks that data are complete, plausible, and the same across participants."""
