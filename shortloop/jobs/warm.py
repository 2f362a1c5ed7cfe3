"""Heavy libraries, imported once for many jobs.

exax forks each job from one process that has loaded the methods. Methods import heavy libraries only where
they use them, so that a run that builds nothing is quick; a run that builds much would pay for these imports
job by job. So a run announces each stage that it begins to build, and the process that forks imports what
the stage needs before it forks the first job of it; the others inherit that.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from pathlib import Path

from shortloop.jobs.project import cache_directory, write_atomically

__all__ = ["announce", "forget", "import_before_forks"]

# What jobs of each stage import, beside what all of them do.
MODULES = {
    "import_epochs": ("shortloop.formats.read", "shortloop.study.inputs"),
    "import_features": ("scipy.io", "shortloop.formats.thesis", "shortloop.study.inputs"),
    "amplitude": ("scipy.signal", "shortloop.features.amplitude"),
    "power": ("mne.time_frequency.tfr", "shortloop.features.power"),
    "train": ("scipy.special", "shortloop.decoding.train"),
    "apply": ("shortloop.decoding.apply",),
    "permute": ("shortloop.decoding.permute", "shortloop.decoding.scores"),
    "group": ("scipy.ndimage", "shortloop.group.statistics"),
    "report": (
        "matplotlib.backends.backend_agg",
        "matplotlib.backends.backend_pdf",
        "shortloop.report.collect",
        "shortloop.report.page",
    ),
}
ALWAYS = (
    "numpy",
    "threadpoolctl",
    "shortloop.jobs.records",
    "shortloop.jobs.results",
    "shortloop.jobs.stage_files",
)


def announce(stage: str) -> None:
    """Say that jobs of a stage come next.

    Parameters
    ----------
    stage : str
        Name of the method.
    """
    if stage in MODULES:
        note = {"pid": os.getpid(), "modules": [*ALWAYS, *MODULES[stage]]}
        write_atomically(_note(), json.dumps(note))


def forget() -> None:
    """The run is over."""
    _note().unlink(missing_ok=True)


def import_before_forks() -> None:
    """From now on, before this process forks, it imports what the run in progress has announced."""
    forks_jobs = os.getpid()  # and jobs themselves, which inherit this, don't

    def import_announced() -> None:
        if os.getpid() != forks_jobs:
            return
        for module in _announced() - imported:
            imported.add(module)
            with contextlib.suppress(ImportError):  # the job that needs it says so better
                loaded = importlib.import_module(module)
                if hasattr(loaded, "warm_up"):  # compiled code too is loaded once
                    loaded.warm_up()

    imported: set[str] = set()
    os.register_at_fork(before=import_announced)


def _announced() -> set[str]:
    try:
        note = json.loads(_note().read_text(encoding="utf-8"))
        os.kill(note["pid"], 0)  # a run that was killed left its note behind
    except (OSError, ValueError, KeyError):
        return set()
    return set(note["modules"])


def _note() -> Path:
    return cache_directory("warm") / "run.json"
