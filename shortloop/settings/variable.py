"""The environment variable that names the file of settings of a run, to every build script."""

from __future__ import annotations

__all__ = ["SETTINGS_VARIABLE"]

SETTINGS_VARIABLE = "SHORTLOOP_SETTINGS"
