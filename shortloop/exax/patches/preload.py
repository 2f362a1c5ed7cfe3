"""Import heavy libraries once for many jobs.

exax forks each job from one process that has loaded the methods. Methods import heavy libraries only where
they use them, so that a run that builds nothing is quick; a run that builds much would pay for these imports
in each job. So a run announces each method of its jobs, and the process that forks imports what the method's
file imports before the first job, likewise modules that an option names. exax does not reload its methods
when one of these changes, so a job keeps them only if their files are unchanged.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from shortloop.base.plain import Plain
from shortloop.exax.patches.loading import is_as_loaded, loaded_modules
from shortloop.keys.code import MADE_OF_STAGE, code_state, declares_code
from shortloop.keys.file_state import State, states_of_files
from shortloop.keys.methods import STAGE, find_method
from shortloop.keys.own_code import PACKAGE
from shortloop.keys.source import imports_at_top, read_source
from shortloop.project.project import cache_directory, write_atomically
from shortloop.stages import threads
from shortloop.units.messages import engine_of_run, living_note

ENGINES = f"{PACKAGE}.engines.", f"{PACKAGE}.units."
# What every stage needs.
ALWAYS = (
    "multiprocessing.sharedctypes",  # of what hands out units
    "numpy",
    "shortloop.exax.declare",
    "shortloop.stages.task",
    "shortloop.stages.function",
    "shortloop.stages.output",
)

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as malloc.h of glibc has them
MANY = 3  # jobs of a lane, from which on even what few of them need is imported for all
MOST_KEPT, LARGEST_KEPT = 2**26, 2**25  # bytes, as far as glibc itself would come in time

Lane = tuple[str, tuple[str, ...]]  # a method, and modules that an option names
_loaded: tuple[dict[str, ModuleType], list[str], list[State]] | None = None
_beside: dict[Lane, list[str]] = {}  # modules of jobs beside those that their method imports
_imported_already: set[str] = set()
quiet_from = 0.0  # time, of the system's monotonic clock, from which on that may be done
later: list[str] = []  # modules of announced jobs that have not begun, to import while there is nothing else
_announced_here: dict[Lane, dict[str, Plain]] = {}  # by this process
_jobs: dict[Lane, int] = {}  # that this process has announced
_in_part: set[Lane] = set()  # announced without the libraries that few jobs need


def announce(method: str, modules: Sequence[str] = (), later: Callable[[], Iterable[Lane]] = tuple) -> None:
    """Announce a job of a method to the process that forks it, and methods of jobs that come later."""
    file, lane = find_method(method)[1], (method, tuple(modules))
    _jobs[lane] = _jobs.get(lane, 0) + 1
    is_new = lane not in _announced_here
    if (is_new or (_jobs[lane] == MANY and lane in _in_part)) and declares_code(file):
        beside = sorted(code_state(file, modules).modules.keys() - code_state(file).modules.keys())
        entry: dict[str, Plain] = {"method": method, "named": list(modules), "beside": [*beside]}
        imports = imports_of(method, modules)
        needed = _needed(method, imports)
        if is_new and len(needed) < len(imports):
            _in_part.add(lane)
        _announced_here[lane] = entry | {"modules": needed if is_new else imports}
        of_later = dict.fromkeys(name for each in later() for name in _needed_if_possible(*each))
        note = {"pid": os.getpid(), "jobs": [*_announced_here.values()], "later": [*of_later]}
        write_atomically(_note(), json.dumps(note))


def import_all(names: Iterable[str]) -> None:
    """Import modules, except those that fail: the job that needs one reports it better."""
    if not (new := [name for name in names if name not in _imported_already]):
        return
    before = {*sys.modules}
    _imported_already.update(new)
    for name in new:
        with contextlib.suppress(Exception):
            _import(name)
    with contextlib.suppress(Exception):
        _load_compiled(sys.modules.keys() - before)
    threads.found_pools()  # after all, as it looks through the libraries that are loaded
    # Freed memory is kept in this process and its forks, because the system gives it page by page.
    with contextlib.suppress(AttributeError, OSError):  # glibc alone has it
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
        mallopt(M_TRIM_THRESHOLD, MOST_KEPT)


def modules_beside(method: str, modules: Sequence[str]) -> set[str]:
    """Return modules of a job beside those that its method imports, if they are as they were loaded."""
    names = _beside.get((method, tuple(modules)), [])
    loaded = {name: found for name, found in loaded_modules().items() if name in names}
    return {*loaded} if all(map(is_as_loaded, loaded.values())) else set()


def forget() -> None:
    """Withdraw what this run has announced."""
    _announced_here.clear()
    _jobs.clear()
    _in_part.clear()
    _note().unlink(missing_ok=True)


def import_before_forks() -> None:
    """Import what the run in progress has announced whenever this process forks."""
    forks_jobs, file = os.getpid(), _note()  # jobs themselves, which inherit this, don't
    seen: list[State] = []

    def import_announced() -> None:
        nonlocal seen
        if os.getpid() != forks_jobs or seen == (seen := states_of_files([str(file)])):
            return
        announced: Any = living_note(file) or {}
        for note in announced.get("jobs", ()):
            import_all(note["modules"])
            if (of := (note["method"], tuple(note["named"]))) not in _beside:
                _beside[of] = note["beside"]
                with contextlib.suppress(Exception):
                    _make_ready(*of)
        later[:] = [name for name in announced.get("later", ()) if name not in _imported_already]
        if engine_of_run() is not None:
            with contextlib.suppress(Exception):
                load_client()

    os.register_at_fork(before=import_announced)


def import_next() -> None:
    """Import a module that a job needs which comes later."""
    import_all([later.pop(0)])


def load_client() -> None:
    """Load the client of engines, which each job would load again, for all jobs that this process forks."""
    global _loaded  # in no key, but used only while the files of the package are as they were
    import shortloop.units.client  # noqa: F401

    ours = {name: module for name, module in sys.modules.items() if name.startswith(f"{PACKAGE}.")}
    files = [file for module in ours.values() if (file := getattr(module, "__file__", None))]
    engines = {name: module for name, module in ours.items() if name.startswith(ENGINES)}
    _loaded = engines, files, states_of_files(files)


def client() -> Any:
    """Return the client of engines as it was loaded for all jobs."""
    if _loaded is not None and states_of_files(_loaded[1]) == _loaded[2]:
        for name, module in _loaded[0].items():
            sys.modules.setdefault(name, module)
    from shortloop.units import client

    return client


def _make_ready(method: str, modules: tuple[str, ...]) -> None:
    """Cache once what each job of a method asks for."""
    from shortloop.stages.stage import Stage
    from shortloop.stages.task import validators_of

    package, file = find_method(method)
    code_state(file, modules)
    code_state(file)
    for name in read_source(file, f"{package}.{file.stem}").names:  # among them the stage that it is made of
        module, _, last = name.rpartition(".")
        stage = getattr(sys.modules.get(module), last, None)
        if isinstance(stage, type) and issubclass(stage, Stage):
            validators_of(cast("Any", stage))


def _import(name: str) -> None:
    """Import a module by its name or that of something in it, with its compiled code."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        module = importlib.import_module(name.rpartition(".")[0])
    if module.__name__.startswith("shortloop.") and hasattr(module, "warm_up"):
        module.warm_up()


def _load_compiled(names: Iterable[str]) -> None:
    """Load machine code of this package's functions, so that no job does."""
    ours = [name for name in names if name.startswith(f"{PACKAGE}.")]
    if ours and "numba" in sys.modules:
        from shortloop.exax.patches.machine_code import load_compiled

        for name in ours:
            load_compiled(sys.modules[name])


def _note() -> Path:
    return cache_directory("warm") / "run.json"


def imports_of(method: str, modules: Sequence[str] = ()) -> list[str]:
    """List what jobs of a method import, except modules of the user's own, which each job imports itself."""
    package, file = find_method(method)
    own, known, name = code_state(file).modules, code_state(file, modules).modules, f"{package}.{file.stem}"
    names = _run(file, name)
    if MADE_OF_STAGE & names:
        stages = {each.rpartition(".")[0] for each in names} & own.keys()
        names = names.union(ALWAYS, *(_run(own[stage], stage) for stage in stages))
    names = names.union(modules, *(_run(known[each], each) for each in modules if each in known))
    users = {each for each in known if not _is_in(each, PACKAGE)}
    for each in users - {name}:
        names |= _run(known[each], each) & imports_at_top(known[each])
    of_users = {each for each in names if any(_is_in(each, user) for user in users)}
    return sorted(each for each in names if _is_in(each, PACKAGE) or each not in of_users)


def _needed_if_possible(method: str, modules: Sequence[str]) -> list[str]:
    with contextlib.suppress(Exception):  # its own job reports what is wrong with it
        return _needed(method, imports_of(method, modules))
    return []


def _is_in(name: str, module: str) -> bool:
    return f"{name}.".startswith(f"{module}.")


def _run(file: Path, module: str) -> set[str]:
    """Return what a file imports when it runs; imports for types alone may be heavy."""
    source = read_source(file, module)
    return {*source.names} - {*source.for_types}


def _needed(method: str, imports: list[str]) -> list[str]:
    """Leave out what few jobs of a method need. Its stage is loaded, because a job of it is planned."""
    package, file = find_method(method)
    stage = getattr(sys.modules.get(f"{package}.{file.stem}"), STAGE, None)
    seldom = getattr(stage, "_seldom", ())
    return [each for each in imports if not any(_is_in(each, library) for library in seldom)]
