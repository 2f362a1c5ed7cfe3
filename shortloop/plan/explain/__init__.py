"""Reasons why a job is or was built, short and in full."""
