"""Heavy libraries, imported once for many jobs.

exax forks each job from one process that has loaded the methods. Methods import heavy libraries only where
they use them, so that a run that builds nothing is quick; a run that builds much would pay for these imports
job by job. So a run announces each method that it has a job of, and the process that forks imports what the
method's file imports before it forks the first; the others inherit that.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from pathlib import Path

from shortloop.jobs.keys.closure import closure
from shortloop.jobs.keys.code import code_file
from shortloop.jobs.keys.key import find_method
from shortloop.jobs.keys.source import read_source
from shortloop.jobs.project import cache_directory, write_atomically

__all__ = ["announce", "forget", "import_before_forks"]

MADE_OF_STAGE = "shortloop.jobs.exax.method.exax_method"
# What every stage needs.
ALWAYS = ("shortloop.worker.fields", "shortloop.worker.output", "shortloop.worker.threads")


def announce(method: str) -> None:
    """Say that a job of a method comes next.

    Parameters
    ----------
    method : str
        Name of the method. Nothing is imported for one that does not say what it imports, with `code_of`:
        nobody would notice that an imported module has changed.
    """
    package, file = find_method(method)
    if code_file(file).is_file():
        note = {"pid": os.getpid(), "modules": _imported(file, f"{package}.{file.stem}")}
        write_atomically(_note(), json.dumps(note))


def forget() -> None:
    """The run is over."""
    _note().unlink(missing_ok=True)


def import_before_forks() -> None:
    """From now on, before this process forks, it imports what the run in progress has announced."""
    forks_jobs = os.getpid()  # and jobs themselves, which inherit this, don't
    imported: set[str] = set()

    def import_announced() -> None:
        if os.getpid() != forks_jobs:
            return
        for name in sorted(_announced() - imported):
            imported.add(name)
            with contextlib.suppress(Exception):  # the job that needs it says so better
                _import(name)

    os.register_at_fork(before=import_announced)


def _imported(file: Path, method: str) -> list[str]:
    """What a method imports; of one that is made of a stage, what that imports too."""
    names = read_source(file, method).names
    if MADE_OF_STAGE not in names:
        return names
    known = closure(file)[0]
    direct = {name.rpartition(".")[0] for name in names} & known.keys()
    of_stages = {name for module in direct for name in read_source(known[module], module).names}
    return sorted({*names, *of_stages, *ALWAYS})


def _import(name: str) -> None:
    """A module, by its name or that of something in it, with its compiled code if it has any here."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        module = importlib.import_module(name.rpartition(".")[0])
    if module.__name__.startswith("shortloop.") and hasattr(module, "warm_up"):
        module.warm_up()


def _announced() -> set[str]:
    try:
        note = json.loads(_note().read_text(encoding="utf-8"))
        os.kill(note["pid"], 0)  # a run that was killed left its note behind
    except (OSError, ValueError, KeyError):
        return set()
    return set(note["modules"])


def _note() -> Path:
    return cache_directory("warm") / "run.json"
