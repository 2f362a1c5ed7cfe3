"""Handing out independent units of work, and keeping those that are done."""
