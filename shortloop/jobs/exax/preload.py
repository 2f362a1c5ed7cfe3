"""Heavy libraries, imported once for many jobs.

exax forks each job from one process that has loaded the methods. Methods import heavy libraries only where
they use them, so that a run that builds nothing is quick; a run that builds much would pay for these imports
job by job. So a run announces each method that it has a job of, and the process that forks imports what the
method's file imports before it forks the first; the others inherit that. So it is with modules that an
option names; but exax does not load its methods anew when one of these changes, so a job keeps them only if
their files are still what was loaded.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from shortloop.engines.note import engine_of_run
from shortloop.jobs.exax.imports import imports_of
from shortloop.jobs.exax.loading import Loaded, loaded_modules
from shortloop.jobs.keys.code import code_state, says_code
from shortloop.jobs.keys.file_state import State, states_of_files
from shortloop.jobs.keys.hashing import hash_file
from shortloop.jobs.keys.methods import find_method
from shortloop.jobs.keys.source import read_source
from shortloop.jobs.project import cache_directory, write_atomically
from shortloop.plain import Plain
from shortloop.worker import threads

__all__ = ["announce", "forget", "import_all", "import_before_forks", "modules_beside"]

# Modules that jobs of a method need beside those that it imports, by the method and the modules that an
# option of the job names.
_beside: dict[tuple[str, tuple[str, ...]], list[str]] = {}
_imported_already: set[str] = set()
# What this process has announced last: most jobs are of the method of the job before.
_last: tuple[str, tuple[str, ...]] | None = None


def announce(method: str, modules: Sequence[str] = ()) -> None:
    """Say that a job of a method comes next.

    Parameters
    ----------
    method : str
        Name of the method. Nothing is imported for one that does not say what it imports, with `code_of`:
        nobody would notice that an imported module has changed.
    modules : sequence of str
        Modules that it imports by a name that is an option.
    """
    global _last
    if _last == (method, tuple(modules)):
        return
    _, file = find_method(method)
    if says_code(file):
        known, own = code_state(file, modules).modules, code_state(file).modules
        note: dict[str, Plain] = {"pid": os.getpid(), "method": method, "named": list(modules)}
        note |= {"modules": imports_of(method, modules), "beside": sorted(known.keys() - own.keys())}
        write_atomically(_note(), json.dumps(note))
        _last = method, tuple(modules)


def import_all(names: Iterable[str]) -> None:
    """Import modules, as far as they can be: the job that needs one of the others says it better.

    Parameters
    ----------
    names : iterable of str
        As of `imports_of`.
    """
    new = [name for name in names if name not in _imported_already]
    for name in new:
        _imported_already.add(name)
        with contextlib.suppress(Exception):
            _import(name)
    if new:
        threads.warm_up()  # after all, as it looks through the libraries that are loaded


def modules_beside(method: str, modules: Sequence[str]) -> set[str]:
    """Modules that a job has beside those that its method imports, if they are as they were loaded.

    Parameters
    ----------
    method : str
        Name of the method.
    modules : sequence of str
        Modules that it imports by a name that is an option.

    Returns
    -------
    set of str
        Empty if one of them changed: others may hold something of it.
    """
    names = _beside.get((method, tuple(modules)), [])
    loaded = {name: found for name, found in loaded_modules().items() if name in names}
    return {*loaded} if all(map(_is_as_loaded, loaded.values())) else set()


def _is_as_loaded(module: Loaded) -> bool:
    try:
        return hash_file(Path(module.file)) == module.content
    except OSError:
        return False


def forget() -> None:
    """The run is over."""
    global _last
    _last = None
    _note().unlink(missing_ok=True)


def import_before_forks() -> None:
    """From now on, before this process forks, it imports what the run in progress has announced."""
    forks_jobs, file = os.getpid(), _note()  # jobs themselves, which inherit this, don't
    seen: list[State] = []

    def import_announced() -> None:
        nonlocal seen
        if os.getpid() != forks_jobs or seen == (seen := states_of_files([str(file)])):
            return
        note = _announced(file)
        import_all(note.get("modules", []))
        if note and (of := (note["method"], tuple(note["named"]))) not in _beside:
            _beside[of] = note["beside"]
            with contextlib.suppress(Exception):
                _make_ready(*of)
        if engine_of_run() is not None:
            with contextlib.suppress(Exception):
                _load_client()

    os.register_at_fork(before=import_announced)


def _load_client() -> None:
    from shortloop.jobs.exax.method import load_client

    load_client()


def _make_ready(method: str, modules: tuple[str, ...]) -> None:
    """Find out once what each job of a method asks for."""
    from shortloop.worker.fields import make_ready
    from shortloop.worker.stage import Stage

    package, file = find_method(method)
    code_state(file, modules)
    code_state(file)
    for name in read_source(file, f"{package}.{file.stem}").names:  # among them the stage that it is made of
        module, _, last = name.rpartition(".")
        stage = getattr(sys.modules.get(module), last, None)
        if isinstance(stage, type) and issubclass(stage, Stage):
            make_ready(stage)


def _import(name: str) -> None:
    """A module, by its name or that of something in it, with its compiled code if it has any here."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        module = importlib.import_module(name.rpartition(".")[0])
    if module.__name__.startswith("shortloop.") and hasattr(module, "warm_up"):
        module.warm_up()


def _announced(file: Path) -> dict[str, Any]:
    try:
        note: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        os.kill(note["pid"], 0)  # a run that was killed left its note behind
    except (OSError, ValueError, KeyError):
        return {}
    return note


def _note() -> Path:
    return cache_directory("warm") / "run.json"
