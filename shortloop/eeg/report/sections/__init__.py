"""Sections of the report, one module each."""
