"""In the processes of a job: what they load and which files of the project they open is noted."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shortloop.jobs.exax.loading import forget_modules, load_from_source, loaded_modules
from shortloop.jobs.exax.preload import modules_beside
from shortloop.jobs.exax.silence import answer_where
from shortloop.jobs.keys.code import library_versions, modules_as_loaded
from shortloop.jobs.keys.file_state import file_state
from shortloop.jobs.keys.own_code import ROOT
from shortloop.jobs.project import CONFIGURATION, configuration, project_directory
from shortloop.jobs.store.notes import NOTED, note, take_notes

__all__ = ["begin_job", "watch_jobs", "watch_program", "watch_units"]

STARTUP = Path(__file__).parent / "startup"


def watch_jobs() -> None:
    """From now on, each job that this process forks is watched, from its begin."""
    from accelerator import launch

    original, is_watched = launch.execute_process, _watched_files()

    @functools.wraps(original)
    def watched(workdir: str, jobid: str, *arguments: Any, **more: Any) -> Any:
        begin_job(Path(workdir) / jobid, is_watched)
        return original(workdir, jobid, *arguments, **more)

    launch.execute_process = watched


def begin_job(folder: Path, is_watched: Callable[[str], bool]) -> None:
    """Watch this process, which runs a job from now on, and those that it starts; import its method.

    It forgets modules of this package that its method does not import, which others' jobs have left here: it
    gets them only by an import, which is noted.

    Parameters
    ----------
    folder : Path
        The job's folder.
    is_watched : callable
        Says of the path of a file whether to note that it is opened.
    """
    take_notes(folder)
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    package, name = setup["package"], f"{setup['package']}.a_{setup['method']}"
    before = set(loaded_modules())
    _watch(is_watched)
    with contextlib.suppress(Exception):  # exax imports it again, and says why it cannot be
        importlib.import_module(name)
    file = getattr(sys.modules.get(name), "__file__", None)
    imports = {name, *(modules_as_loaded(Path(file).resolve()) if file else ())}
    named = setup["options"].get("modules") or ()
    imports |= modules_beside(setup["method"], named)
    above = {package.rsplit(".", depth)[0] for depth in range(package.count(".") + 1)}
    forget_modules(before - imports - above)
    kept = before & imports
    note(loaded={each: found for each, found in loaded_modules().items() if each in kept})
    if file:
        with contextlib.suppress(SyntaxError):  # it is edited right now, and what was loaded is noted
            note(versions=library_versions(Path(file).resolve(), named))


def watch_units() -> None:
    """Watch a process that computes units of a job elsewhere, and those that it starts."""
    _watch(_watched_files())


def watch_program() -> None:
    """Watch a program that a job has started."""
    load_from_source(anew=True)
    with contextlib.suppress(OSError, ValueError):
        sys.addaudithook(_opened(_watched_files()))


def _watch(is_watched: Callable[[str], bool]) -> None:
    answer_where()
    sys.addaudithook(_opened(is_watched))
    path = [str(STARTUP), str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, path))


def _watched_files() -> Callable[[str], bool]:
    """Whether a file is one of the project, or of its input, that a method should not open unseen."""
    project, settings = project_directory(), configuration()
    inside = {project, Path(settings.get("input_directory") or project)}
    workdirs = [Path(folder) for folder in settings.workdirs.values()]
    # Results of jobs have keys of their own; of the rest, nothing is data.
    outside = {*workdirs, project / "workdirs", Path(sys.prefix), STARTUP}
    begin = tuple(f"{os.path.abspath(folder)}/" for folder in inside)
    not_begin = tuple(f"{os.path.abspath(folder)}/" for folder in outside)

    def is_watched(path: str) -> bool:
        above = next((folder for folder in begin if path.startswith(folder)), None)
        if above is None or path.startswith(not_begin):
            return False
        name = f"/{path.removeprefix(above)}"
        return "/." not in name and "/__pycache__/" not in name and not name.endswith(f"/{CONFIGURATION}")

    return is_watched


def _opened(is_watched: Callable[[str], bool]) -> Callable[[str, tuple[Any, ...]], None]:
    """An audit hook that notes files that are read, each once."""
    seen: set[str] = set()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open":
            return
        path, _, flags = arguments[:3]
        if isinstance(path, int) or (flags or 0) & (os.O_WRONLY | os.O_DIRECTORY):
            return
        name = os.path.abspath(os.fsdecode(path))
        if name in seen or not is_watched(name):
            return
        seen.add(name)
        if not name.endswith(f"/{NOTED}") and os.path.isfile(name):
            state, settled = file_state(Path(name))
            note(opened=name, state=state, settled=settled)

    return hook
