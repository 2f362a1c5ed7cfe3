"""Heavy libraries, imported once for many jobs.

exax forks each job from one process that has loaded the methods. Methods import heavy libraries only where
they use them, so that a run that builds nothing is quick; a run that builds much would pay for these imports
job by job. Once it has built its first job, such a run has the methods loaded anew, by a process that
imports what its other jobs need, which they then inherit.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from shortloop.jobs.project import cache_directory, configuration, write_atomically

__all__ = ["WORTH_IT", "forget_warm", "import_warm", "load_warm"]

WORTH_IT = 6
"""From this many jobs to come, loading the methods anew costs less than it saves."""

# What jobs of each stage import, beside what all of them do.
MODULES = {
    "import_epochs": ("shortloop.formats.read", "shortloop.study.inputs"),
    "import_features": ("scipy.io", "shortloop.formats.thesis", "shortloop.study.inputs"),
    "amplitude": ("scipy.signal", "shortloop.features.amplitude"),
    "power": ("mne.time_frequency.tfr", "shortloop.features.power"),
    "train": ("scipy.special", "shortloop.decoding.train"),
    "apply": ("shortloop.decoding.apply",),
    "permute": ("shortloop.decoding.permute", "shortloop.decoding.scores"),
}
ALWAYS = (
    "numpy",
    "threadpoolctl",
    "shortloop.jobs.records",
    "shortloop.jobs.results",
    "shortloop.jobs.stage_files",
)


def load_warm(stages: Iterable[str]) -> None:
    """Have the server load the methods anew, in a process that imports what these stages need.

    Parameters
    ----------
    stages : iterable of str
        Stages of the jobs to come. No job may be running.
    """
    from accelerator.unixhttp import call

    modules = [*ALWAYS, *(module for stage in sorted(set(stages)) for module in MODULES.get(stage, ()))]
    note = {"pid": os.getpid(), "modules": modules}
    write_atomically(_note(), json.dumps(note))
    call(f"{configuration().url}/update_methods")


def forget_warm() -> None:
    """The run is over: methods that are loaded from now on start cold again."""
    _note().unlink(missing_ok=True)


def import_warm() -> None:
    """In the process that forks jobs: import what a run in progress asked for."""
    try:
        note = json.loads(_note().read_text(encoding="utf-8"))
        os.kill(note["pid"], 0)  # a run that was killed left its note behind
    except (OSError, ValueError, KeyError):
        return
    for module in note["modules"]:
        with contextlib.suppress(ImportError):  # the job that needs it says so better
            loaded = importlib.import_module(module)
            if hasattr(loaded, "warm_up"):  # compiled code too is loaded once
                loaded.warm_up()


def _note() -> Path:
    return cache_directory("warm") / "run.json"
