"""Engines, which distribute independent units of work."""
