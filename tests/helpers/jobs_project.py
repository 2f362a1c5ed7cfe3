"""An empty project, and folders of jobs as exax leaves them, without a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from python_process import ended

from shortloop.exax.evidence import watchers
from shortloop.keys import closure, code, hashing, methods, source
from shortloop.project import project as jobs_project

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = """\
slices: 2
workdirs:
	main ./workdirs/main
	other ./elsewhere/other
method packages:
	shortloop.prepare auto-discover
	methods auto-discover
listen: .socket.dir/server
result directory: ./results
"""


def empty_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which becomes the current folder; tests make a fixture of it."""
    folder = tmp_path / "project"
    folder.mkdir()
    write_configuration(folder)
    monkeypatch.chdir(folder)
    return folder


def write_configuration(folder: Path) -> None:
    (folder / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    jobs_project._configuration.cache_clear()  # of a folder of the same name, which is deleted
    if hasattr(methods.packages, "cache_clear"):  # else a test has replaced it
        methods.forget_methods()


def make_job(
    project: Path,
    job: str,
    *,
    method: str = "train",
    options: Mapping[str, Any] | None = None,
    jobs: Mapping[str, Any] | None = None,
    finished: bool = True,
) -> Path:
    """Folder of a job with exax's own files; it has no record yet."""
    workdir = job.rpartition("-")[0]
    folder = project / {"main": "workdirs", "other": "elsewhere"}[workdir] / workdir / job
    folder.mkdir(parents=True)
    setup = {
        "method": method,
        "package": "methods",
        "hash": "0123abcd",
        "starttime": 1_700_000_000.0,
        "exectime": {"total": 1.5},
        "options": dict(options or {}),
        "jobs": dict(jobs or {}),
    }
    (folder / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
    if finished:
        (folder / "post.json").write_text("{}", encoding="utf-8")
    return folder


def fresh_python(code: str, cwd: Path, *arguments: str, **environment: str) -> str:
    """What a new process prints."""
    done = ended(["-c", code, *arguments], cwd, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(project: Path, name: str, text: str) -> Path:
    """A file of a project, with the folders it is in."""
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def own_package(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with methods, and a package of its own under the name that keys track; tests make a fixture
    of it. Its methods can be imported; what they import of that package, only in their functions."""
    watchers()  # of the real package, once for all
    monkeypatch.setattr(closure, "ROOT", project)
    monkeypatch.setattr(methods, "_methods", {})
    monkeypatch.setattr(methods, "packages", lambda: [("methods", project / "methods")])
    forget_sources(monkeypatch)
    write(project, "shortloop/__init__.py", "")
    with own_methods(project / "methods"):
        yield project


@contextmanager
def own_methods(folder: Path) -> Iterator[None]:
    """Import methods from a folder, which needs no `__init__.py`, and forget them after that."""
    real = _pop_methods()
    spec = ModuleSpec("methods", None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    sys.modules["methods"] = module_from_spec(spec)
    try:
        yield
    finally:
        _pop_methods()
        sys.modules.update(real)


def _pop_methods() -> dict[str, ModuleType]:
    loaded = [name for name in sys.modules if name.partition(".")[0] == "methods"]
    return {name: sys.modules.pop(name) for name in loaded}


def files_read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A fixture: every file that is read for its hash, from now on."""
    read: list[Path] = []
    real = hashing.hash_file

    def counted(file: Path, step: Callable[[int], None]) -> str:
        read.append(file)
        return real(file, step)

    monkeypatch.setattr(hashing, "hash_file", counted)
    return read


def forget_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(code, "_known", {})
    monkeypatch.setattr(source, "_memory", {})
    monkeypatch.setattr(source, "_text_hashes", {})
    monkeypatch.setattr(source, "_changed", False)


def text_of(method: Path) -> str:
    """What of the code is part of a method's key."""
    return code.code_text(method.resolve())
