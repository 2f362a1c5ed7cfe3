"""Formats of panels: files, datasets, or a simulation; one module for each."""
