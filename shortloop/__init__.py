"""Run analyses made of many independent fits, and re-run only what a change affects.

``shortloop.load("main-12")`` gives the arrays and the record of a job by its id.
Nothing heavy is imported here: exax imports this package on every run.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

__version__ = "0.1.0"
# Looked up on first use, so that importing the package costs nothing (and keys of jobs
# see only the modules that a method really uses).
_PUBLIC = {
    "CollectingStage": "shortloop.stages.stage",
    "File": "shortloop.stages.inputs",
    "Finished": "shortloop.stages.stage",
    "InputError": "shortloop.base.errors",
    "Job": "shortloop.stages.stage",
    "Out": "shortloop.stages.stage",
    "Outputs": "shortloop.stages.stage",
    "Settings": "shortloop.settings.base",
    "Stage": "shortloop.stages.stage",
    "Values": "shortloop.stages.stage",
    "isolate": "shortloop.isolation",
    "load": "shortloop.store.loaded",
    "pipeline": "shortloop.script",
    "read_study": "shortloop.eeg.study.load",
    "run_pipeline": "shortloop.run.executor",
    "seed_for": "shortloop.base.seeds",
    "stage": "shortloop.exax.declare",
}
__all__ = list(_PUBLIC)

# numba's own way takes machine code of one file for valid when another has changed that it was made of.
os.environ.setdefault(
    "NUMBA_CACHE_LOCATOR_CLASSES",
    "shortloop.exax.patches.machine_code.ByClosure,UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,"
    "IPythonCacheLocator,ZipCacheLocator",
)
_numba = sys.modules.get("numba")
if _numba is not None:  # it has read its environment
    _numba.config.CACHE_LOCATOR_CLASSES = os.environ["NUMBA_CACHE_LOCATOR_CLASSES"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'shortloop' has no attribute {name!r}")
