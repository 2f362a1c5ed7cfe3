"""Engines by name, each imported on first use because its library is heavy or optional."""

from __future__ import annotations

import importlib
import os
import secrets

from shortloop.base.entry_points import entry_point, load_entry_point
from shortloop.base.errors import TransientError
from shortloop.base.extras import need
from shortloop.engines.engine import Engine
from shortloop.settings.engine import ENGINE_GROUP, EngineSettings

__all__ = ["ENGINES", "LIBRARIES", "close_off", "open_engine"]

ENGINES = {
    "joblib": "shortloop.engines.joblib_engine.JoblibEngine",
    "dask": "shortloop.engines.dask_engine.DaskEngine",
    "ray": "shortloop.engines.ray_engine.RayEngine",
}
"""Class of each engine; slices are exax's own."""
LIBRARIES = {"joblib": ("joblib",), "dask": ("dask", "distributed"), "ray": ("ray",)}
"""What each needs, by the names that they are imported by; extras have the names of the engines."""


def open_engine(settings: EngineSettings, workers: int) -> Engine:
    """Start an engine, or connect to one."""
    if settings.name in ENGINES:
        need(settings.name, LIBRARIES[settings.name])
        if settings.name == "ray" and settings.address is None:
            close_off()
        module, _, name = ENGINES[settings.name].rpartition(".")
        kind = getattr(importlib.import_module(module), name)
    else:
        kind = _offered(settings.name)
    engine: Engine = kind(settings, settings.workers or workers)
    return engine


def _offered(name: str) -> type[Engine]:
    """The engine of another package."""
    point = entry_point(ENGINE_GROUP, name)
    if point is None:  # it was there when the run began
        raise TransientError("the engine is not installed", field="engine.name", found=name)

    def is_right(found: object) -> bool:
        return isinstance(found, type) and issubclass(found, Engine) and not found.__abstractmethods__

    expected = "a class below shortloop.engines.engine.Engine, with all its methods"
    kind: type[Engine] = load_entry_point(
        point, is_right, f"an entry point of {ENGINE_GROUP} cannot be used", expected
    )
    return kind


def close_off() -> None:
    """Let Ray, which must not be imported yet, listen on 127.0.0.1 alone and ask for a token."""
    os.environ.pop("RAY_AUTH_TOKEN_PATH", None)
    os.environ |= {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # Unless it is off, Ray listens where other nodes could reach it.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
