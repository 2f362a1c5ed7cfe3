"""Engines by name. Each is imported when it is asked for, as its library is heavy, or not installed."""

from __future__ import annotations

import importlib

from shortloop.engines.engine import Engine
from shortloop.engines.ray_closed import close_off
from shortloop.extras import need
from shortloop.settings.engine import EngineSettings

__all__ = ["ENGINES", "LIBRARIES", "open_engine"]

ENGINES = {
    "joblib": "shortloop.engines.joblib_engine.JoblibEngine",
    "dask": "shortloop.engines.dask_engine.DaskEngine",
    "ray": "shortloop.engines.ray_engine.RayEngine",
}
"""Class of each engine; slices are exax's own."""
LIBRARIES = {"joblib": ("joblib",), "dask": ("dask", "distributed"), "ray": ("ray",)}
"""What each needs, by the names that they are imported by; extras have the names of the engines."""


def open_engine(settings: EngineSettings, workers: int) -> Engine:
    """Start an engine, or connect to one.

    Parameters
    ----------
    settings : EngineSettings
        Which one; not slices.
    workers : int
        How many to start, if settings say nothing.

    Returns
    -------
    Engine

    Raises
    ------
    TransientError
        If its library is not installed, or it cannot be had.
    """
    need(settings.name, LIBRARIES[settings.name])
    if settings.name == "ray" and settings.address is None:
        close_off()
    module, _, name = ENGINES[settings.name].rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    engine: Engine = kind(settings, settings.workers or workers)
    return engine
