"""Figures and pages of reports."""
