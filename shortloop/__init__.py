"""Shortloop: days-long machine-learning analyses as a loop of minutes.

``shortloop.load("main-12")`` gives the arrays and the record of a job by its id.
Nothing heavy is imported here: exax imports this package on every run.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

__version__ = "0.1.0"
__all__ = ["InputError", "load", "read_study"]

# Looked up on first use, so that importing the package costs nothing (and keys of jobs
# see only the modules that a method really uses).
_PUBLIC = {
    "InputError": "shortloop.errors",
    "load": "shortloop.jobs.store.lookup",
    "read_study": "shortloop.eeg.study.load",
}

# numba's own way takes machine code of one file for valid when another has changed that it was made of.
os.environ.setdefault(
    "NUMBA_CACHE_LOCATOR_CLASSES",
    "shortloop.jobs.exax.machine_code.ByClosure,UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,"
    "IPythonCacheLocator,ZipCacheLocator",
)
_numba = sys.modules.get("numba")
if _numba is not None:  # it has read its environment
    _numba.config.CACHE_LOCATOR_CLASSES = os.environ["NUMBA_CACHE_LOCATOR_CLASSES"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'shortloop' has no attribute {name!r}")
