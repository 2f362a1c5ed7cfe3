"""A node without the project, and a stage whose units do there what a test says."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from blake3 import blake3
from jobs_project import CONFIGURATION
from source_tree import ROOT

from shortloop.engines import worker
from shortloop.engines.worker import compute_batch
from shortloop.keys.closure import closure_of
from shortloop.keys.code import Code
from shortloop.store.inputs import register
from shortloop.units.listing import list_needs
from shortloop.units.machine_facts import surroundings_here
from shortloop.units.messages import JobWork, Parcel, Reply, UnitsDone, Work
from shortloop.units.node_cache import NodeCache, Piece

STAGE = """\
import os
from pathlib import Path

import beside
from shortloop.project.project import project_directory
from shortloop.stages.inputs import File
from shortloop.stages.stage import Out, Stage


def change_beside(place):
    Path("mine").touch()
    os.replace("mine", place)


def what_may_be(place):
    import colorsys, importlib.metadata, inspect, lazy, linecache, pkgutil, sys, tempfile
    Path("mine").write_text("x")
    sys.path.append(str(place))  # as hooks do, and archives that may be there
    Path(tempfile.mkdtemp(), "x").touch()
    [*pkgutil.iter_modules([str(Path(beside.__file__).parent)])]
    found = [os.listdir(), [*importlib.metadata.distributions()], inspect.getsource(lazy)]
    place.parent.joinpath(".cache").mkdir(exist_ok=True)
    (place.parent / ".cache/x").write_text("x")
    return place.resolve() and not linecache.getlines("of no file.py") and all(found)


DOES = {
    "read": lambda place: place.read_text(),
    "open": lambda place: os.close(os.open(place, os.O_RDONLY)) or True,
    "exists": lambda place: place.exists(),
    "is a link": lambda place: place.is_symlink(),
    "list": lambda place: os.listdir(place),
    "iterate": lambda place: [*place.iterdir()],
    "walk": lambda place: [*os.walk(place)],
    "write": lambda place: place.write_text("x"),
    "add": lambda place: place.open("a"),
    "make": lambda place: place.mkdir(),
    "replace": change_beside,
    "remove": lambda place: place.unlink(),
    "rename": lambda place: place.rename(f"{place}.old"),
    "what may be": what_may_be,
}


class Toy(Stage):
    file: File
    top: str = ""
    read: str = ""
    does: str = "read"

    def unit_names(self):
        return [*range(self.units())]

    def units(self):
        return 9

    def outputs(self):
        return {"x": Out((9,), "f8", "units", "numbers")}

    def compute(self, unit):
        if self.read:
            tops = {"here": project_directory(), "input": self.file.path.parent}
            tops["code"] = Path(beside.__file__).parent
            try:
                return {"x": float(bool(DOES[self.does](tops.get(self.top, Path(self.top)) / self.read)))}
            except Exception:  # who does without it would come to another result
                return {"x": -1.0}
        return {"x": beside.FACTOR * float(self.file.path.read_text()), "path": str(self.file.path)}
"""


def named(*units: int) -> list[bytes]:
    """Units of toys whose names are their numbers, as workers are sent them."""
    return [hashlib.blake2b(str(unit).encode(), digest_size=16).digest() for unit in units]


def work_of_toy(
    project: Path,
    options: dict[str, object],
    jobs: Mapping[str, str] = MappingProxyType({}),
    versions: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
) -> JobWork:
    """What a worker must know of a job of the stage `Toy` in a project's `toys.py`."""
    return {
        "project": str(project),
        "path": [str(project), str(ROOT), *more],
        "slices": 2,
        "imports": ["toys", "shortloop.stages.output"],
        "surroundings": surroundings_here(),
        "closure": ["toys", *closure_of("toys", project / "toys.py")[0]],
        "code": "",
        "above": [],
        "package": "methods",
        "task": {
            "name": "toy",
            "module": "toys",
            "kind": "Toy",
            "partition": None,
            "options": options,
            "jobs": dict(jobs),
            "before": None,
            "versions": dict.fromkeys(versions, ""),
            "datasets": {},
        },
    }


class Node:
    """A node, and what a run has to tell it."""

    def __init__(self, project: Path, cache: NodeCache) -> None:
        self.project, self.cache = project, cache

    def work(
        self, jobs: Mapping[str, str] = MappingProxyType({}), **options: object
    ) -> tuple[Work, dict[str, tuple[Path | bytes, int]]]:
        (content,) = register([self.project / "data/in put.txt"])
        said = work_of_toy(self.project, {"file": content, **options}, jobs)
        modules = {name: self.project / f"{name}.py" for name in ("toys", "beside", "lazy")}
        listing, sources = list_needs(said, Code({}, {}, {}, modules, [], []))
        listed = blake3(listing).hexdigest()
        here = (str(self.project / "here"), "as the run has it")
        return Work(f"job {options}", pickle.dumps(said), here, listed), {
            **sources,
            listed: (listing, len(listing)),
        }

    def computed(
        self, *units: int, jobs: Mapping[str, str] = MappingProxyType({}), **options: object
    ) -> UnitsDone:
        """As an engine has it done, which sends what is missing."""
        work, sources = self.work(jobs, **options)
        for _ in range(3):
            reply: Reply = compute_batch(work, named(*units))
            if reply.missing is None:
                assert not reply.lost
                done: UnitsDone = pickle.loads(reply.data)
                return done
            pieces = []
            for content in reply.missing.contents:
                source, size = sources[content]
                data = source if isinstance(source, bytes) else source.read_bytes()
                pieces.append(Piece(content, size, 0, data))
            assert worker.keep_parcel(Parcel("aa", pieces)) == (self.cache.name, "")
        raise AssertionError("it goes on missing something")


def node_without_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    project = tmp_path / "project"
    (project / "workdirs/main").mkdir(parents=True)
    (project / "data").mkdir()
    (project / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    (project / "toys.py").write_text(STAGE, encoding="utf-8")
    (project / "beside.py").write_text("FACTOR = 2.0\n", encoding="utf-8")
    (project / "lazy.py").write_text("NAME = 'lazy'\n", encoding="utf-8")
    (project / "data/in put.txt").write_text("21", encoding="utf-8")
    (project / "secret.txt").write_text("not declared", encoding="utf-8")
    (project / "here").write_text("another project at the same path", encoding="utf-8")
    monkeypatch.chdir(project)
    monkeypatch.setattr(worker, "_processes", processes := worker._Processes())
    node = Node(project, NodeCache(tmp_path / "cache", 1e9))
    monkeypatch.setattr(worker, "node_cache", lambda: node.cache)
    yield node
    for forkserver in processes._forkservers.values():
        forkserver.end()


def values(done: UnitsDone) -> list[Mapping[str, Any]]:
    assert done["failure"] is None, done["failure"]
    return [*map(pickle.loads, done["values"])]


def notes(done: UnitsDone) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done["notes"].splitlines()]


def refused(node: Node, **options: Any) -> str:
    """What is said of a unit which goes on without what it looked for."""
    failure = node.computed(1, **options)["failure"]
    assert failure is not None
    assert "/mirrors/" not in failure["traceback"]
    return failure["traceback"]
