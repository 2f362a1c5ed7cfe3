"""Environment variables that name the file of settings of a run."""

from __future__ import annotations

__all__ = ["SETTINGS_VARIABLE", "STUDY_VARIABLE"]

SETTINGS_VARIABLE = "SHORTLOOP_SETTINGS"
"""To every build script."""
STUDY_VARIABLE = "STUDY"
"""To those of analyses that come with this package."""
