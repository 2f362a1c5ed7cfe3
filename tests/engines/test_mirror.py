"""A worker computes where the project is not: in folders made of what it was sent. What it notes is said with
the paths of the project."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from house import ROOT
from jobs_project import CONFIGURATION

from shortloop.engines import mirror, worker
from shortloop.engines.listing import list_needs
from shortloop.engines.messages import JobWork, Reply, UnitsDone, Work
from shortloop.engines.mirrored import original, translated
from shortloop.engines.node_cache import Files, Mirror, NodeCache, Piece
from shortloop.engines.node_messages import Mirrored, Parcel
from shortloop.engines.worker import compute_batch
from shortloop.jobs.keys.closure import closure_of
from shortloop.jobs.keys.code import Code
from shortloop.jobs.store.inputs import register

STAGE = """\
import os
from pathlib import Path

import beside
from shortloop.jobs.project import project_directory
from shortloop.worker.inputs import File
from shortloop.worker.stage import Out, Stage


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


class Node:
    """A node, and what a run has to tell it."""

    def __init__(self, project: Path, cache: NodeCache) -> None:
        self.project = project
        self.cache = cache

    def work(
        self, jobs: Mapping[str, str] = MappingProxyType({}), **options: object
    ) -> tuple[Work, dict[str, tuple[Path | bytes, int]]]:
        (content,) = register([self.project / "data/in put.txt"])
        said: JobWork = {
            "project": str(self.project),
            "path": [str(self.project), str(ROOT)],
            "slices": 2,
            "imports": ["toys", "shortloop.worker.output"],
            "closure": ["toys", *closure_of("toys", self.project / "toys.py")[0]],
            "code": "",
            "above": [],
            "package": "methods",
            "task": {
                "name": "toy",
                "module": "toys",
                "kind": "Toy",
                "partition": None,
                "options": {"file": content, **options},
                "jobs": dict(jobs),
                "before": None,
                "versions": {},
                "datasets": {},
            },
            "collects": False,
        }
        modules = {name: self.project / f"{name}.py" for name in ("toys", "beside", "lazy")}
        listing, sources = list_needs(said, Code({}, {}, modules, [], []))
        listed = hashlib.sha256(listing).hexdigest()
        here = (str(self.project / "here"), "as the run has it")
        return Work(f"job {options}", pickle.dumps(said), "", here, listed), {
            **sources,
            listed: (listing, len(listing)),
        }

    def computed(
        self, *units: int, jobs: Mapping[str, str] = MappingProxyType({}), **options: object
    ) -> UnitsDone:
        """As an engine has it done, which sends what is missing."""
        work, sources = self.work(jobs, **options)
        for _ in range(3):
            reply: Reply = compute_batch(work, units)
            if reply.missing is None:
                assert not reply.lost
                done: UnitsDone = pickle.loads(reply.data)
                return done
            pieces = []
            for content in reply.missing.contents:
                source, size = sources[content]
                data = source if isinstance(source, bytes) else source.read_bytes()
                pieces.append(Piece(content, size, 0, data))
            assert mirror.keep_parcel(Parcel("aa", pieces)) == (self.cache.name, "")
        raise AssertionError("it goes on missing something")


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
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
    monkeypatch.setattr(mirror, "_caches", [NodeCache(tmp_path / "cache", 1e9)])
    yield Node(project, mirror._caches[0])
    for forkserver in processes._forkservers.values():
        forkserver.end()


def values(done: UnitsDone) -> list[Mapping[str, Any]]:
    assert done["failure"] is None, done["failure"]
    return [dict(each) for each in done["values"]]  # type: ignore[arg-type]


def notes(done: UnitsDone) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done["notes"].splitlines()]


def test_a_unit_is_computed_of_what_was_sent(node: Node) -> None:
    done = node.computed(1)
    (found,) = values(done)
    assert found["x"] == 42.0
    assert found["path"].startswith(str(node.cache._folder / "mirrors"))
    assert found["path"].endswith("/in/data/in put.txt")
    loaded = {name: file for line in notes(done) for name, (file, _) in line.get("loaded", {}).items()}
    assert loaded["toys"] == str(node.project / "toys.py")
    assert loaded["beside"] == str(node.project / "beside.py")
    assert "/mirrors/" not in done["notes"].decode()


def test_where_the_project_is_nothing_is_copied(node: Node) -> None:
    (node.project / "here").write_text("as the run has it", encoding="utf-8")
    (found,) = values(node.computed(1))
    assert found["path"] == str(node.project / "data/in put.txt")
    assert [*(node.cache._folder / "contents").iterdir()] == []


def test_an_edit_and_another_input_are_what_is_computed_with(node: Node) -> None:
    assert values(node.computed(1))[0]["x"] == 42.0
    (node.project / "beside.py").write_text("FACTOR = 3.0\n", encoding="utf-8")
    assert values(node.computed(1, read=""))[0]["x"] == 63.0
    (node.project / "data/in put.txt").write_text("22", encoding="utf-8")
    done = node.computed(2)
    assert values(done)[0]["x"] == 42.0  # the process of the job, which is that of before
    worker._processes._idle.clear()
    assert values(node.computed(2))[0]["x"] == 66.0


def refused(node: Node, **options: Any) -> str:
    """What is said of a unit which goes on without what it looked for."""
    failure = node.computed(1, **options)["failure"]
    assert failure is not None
    assert "/mirrors/" not in failure["traceback"]
    return failure["traceback"]


@pytest.mark.parametrize("top", ["here", "code", ""])
@pytest.mark.parametrize("does", ["read", "open", "exists", "is a link"])
def test_a_file_that_nobody_declared_is_named(node: Node, top: str, does: str) -> None:
    """Where the project's folder would be, that of another one may be: as in these tests."""
    said = refused(node, top=top or str(node.project), read="secret.txt", does=does)
    assert str(node.project / "secret.txt") in said
    assert "the node of this worker has not the project" in said


@pytest.mark.parametrize("top", ["here", "code", ""])
@pytest.mark.parametrize("does", ["list", "iterate", "walk"])
def test_a_folder_of_which_there_is_a_part_is_named(node: Node, top: str, does: str) -> None:
    (node.project / "data/second.txt").write_text("not declared", encoding="utf-8")
    said = refused(node, top=top or str(node.project), read="data", does=does)
    assert f"{node.project}/data\n" in said
    assert "has a part at most" in said


@pytest.mark.parametrize("top", ["here", ""])
def test_a_cache_in_the_project_hides_nothing(node: Node, top: str, monkeypatch: pytest.MonkeyPatch) -> None:
    node.cache = NodeCache(node.project / ".node-cache", 1e9)
    monkeypatch.setattr(mirror, "_caches", [node.cache])
    assert str(node.project / "secret.txt") in refused(node, top=top or str(node.project), read="secret.txt")
    assert values(node.computed(1))[0]["x"] == 42.0


def test_a_path_through_a_link_leads_nowhere(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(node.project)
    monkeypatch.setenv("PWD", str(tmp_path / "link"))
    assert str(tmp_path / "link/secret.txt") in refused(node, top=str(tmp_path / "link"), read="secret.txt")


def test_the_folder_of_inputs_is_that_of_the_run(node: Node, tmp_path: Path) -> None:
    (tmp_path / "inputs").mkdir()
    for name in ("declared", "other"):
        (tmp_path / "inputs" / name).write_text("7", encoding="utf-8")
    with (node.project / "accelerator.conf").open("a", encoding="utf-8") as stream:
        stream.write(f"input directory: {tmp_path}/inputs\n")
    (content,) = register([tmp_path / "inputs/declared"])
    assert values(node.computed(1, file=content))[0]["x"] == 14.0
    for top in (str(tmp_path / "inputs"), "input"):
        said = refused(node, top=top, read="other", file=content)
        assert str(tmp_path / "inputs/other") in said


def test_what_is_read_while_modules_are_imported(node: Node) -> None:
    (node.project / "beside.py").write_text(
        "try:\n"
        f"    FACTOR = len(open({str(node.project / 'secret.txt')!r}).read())\n"
        "except Exception:\n"
        "    FACTOR = 1.0\n",
        encoding="utf-8",
    )
    assert str(node.project / "secret.txt") in refused(node)


@pytest.mark.parametrize("top", ["here", "code", ""])
@pytest.mark.parametrize("does", ["write", "add", "make", "replace"])
def test_what_a_unit_adds_to_the_project_is_refused(node: Node, top: str, does: str) -> None:
    said = refused(node, top=top or str(node.project), read="new", does=does)
    assert str(node.project / "new") in said
    assert "give it as an output of the stage" in said


@pytest.mark.parametrize("does", ["write", "add", "remove", "rename"])
def test_what_was_sent_stays_as_it_is(node: Node, does: str) -> None:
    said = refused(node, top="here", read="data/in put.txt", does=does)
    assert str(node.project / "data/in put.txt") in said
    assert "a unit changes a file of the project" in said
    assert values(node.computed(1))[0]["x"] == 42.0


def test_what_a_unit_may_do(node: Node) -> None:
    assert values(node.computed(1, top="here", read="x", does="what may be"))[0]["x"] == 1.0
    assert values(node.computed(1, top="here", read="data/in put.txt", does="exists"))[0]["x"] == 1.0


def made_job(project: Path, name: str, made_from: str | None = None) -> Path:
    folder = project / "workdirs/main" / name
    folder.mkdir()
    setup = {"method": "toy", "package": "methods", "options": {}, "jobs": {"above": made_from}}
    (folder / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
    (folder / "left.txt").write_text("left", encoding="utf-8")
    return folder


def test_of_a_job_all_is_there_and_of_those_before_it_a_part(node: Node) -> None:
    made_job(node.project, "main-1")
    jobs = {"given": str(made_job(node.project, "main-2", "main-1"))}

    def found(read: str, does: str) -> float:
        (each,) = values(node.computed(1, jobs=jobs, top="here", read=f"workdirs/main/{read}", does=does))
        return float(each["x"])

    assert found("main-2/left.txt", "read") == 1.0
    assert found("main-2", "list") == 1.0
    assert found("main-2/not left.txt", "exists") == 0.0
    assert found("main-2/not left.txt", "read") == -1.0
    assert found("main-1/setup.json", "read") == 1.0
    for read, does in (("main-1/left.txt", "exists"), ("main-1", "list"), ("", "list")):
        said = refused(node, jobs=jobs, top="here", read=f"workdirs/main/{read}", does=does)
        assert str(node.project / "workdirs/main" / read) in said


def test_nothing_stays_open_where_a_mirror_cannot_be_made(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.computed(1)
    worker._processes._idle.clear()
    work, _ = node.work()
    made, calls = node.cache.mirror, []

    def second_fails(files: Files) -> Mirror | None:
        calls.append(files)
        if len(calls) == 2:
            raise OSError("the disk is full")
        return made(files)

    monkeypatch.setattr(node.cache, "mirror", second_fails)
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match="the disk is full"):
        mirror.placed(work)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_damaged_cache_is_mended(node: Node) -> None:
    assert values(node.computed(1))[0]["x"] == 42.0
    for each in (node.cache._folder / "contents").glob("*/*"):
        if not each.name.endswith(".seen"):
            os.chmod(each, 0o600)
            each.write_bytes(each.read_bytes()[:-1])
    worker._processes._idle.clear()
    assert values(node.computed(1))[0]["x"] == 42.0


def test_what_a_job_needs_is_listed(node: Node) -> None:
    work, sources = node.work()
    listing = json.loads(sources[work.listed][0])  # type: ignore[arg-type]
    assert {*listing["code"]} == {"in/accelerator.conf", "in/toys.py", "in/beside.py", "in/lazy.py"}
    assert {*listing["data"]} == {"in/accelerator.conf", "in/data/in put.txt"}
    assert work.listed == node.work()[0].listed  # the next one finds it there
    assert "secret" not in str(listing)


def test_modules_lie_where_they_are_looked_for(node: Node, tmp_path: Path) -> None:
    """Outside of the project, in packages, and behind links."""
    for folder, name in ((tmp_path / "more", "theirs"), (tmp_path / "behind", "linked")):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("", encoding="utf-8")
        (folder / name / "part.py").write_text("FACTOR = 1\n", encoding="utf-8")
    (node.project / "linked").symlink_to(tmp_path / "behind/linked")
    work, _ = node.work()
    said: JobWork = pickle.loads(work.data)
    said["path"].append(str(tmp_path / "more"))
    modules = {
        "theirs": tmp_path / "more/theirs/__init__.py",
        "theirs.part": tmp_path / "more/theirs/part.py",
        "linked.part": node.project / "linked/part.py",
        "shortloop.worker.stage": ROOT / "shortloop/worker/stage.py",
    }
    listing = json.loads(list_needs(said, Code({}, {}, modules, [], []))[0])
    above = f"out{os.path.realpath(tmp_path / 'more')}"
    assert {*listing["code"]} == {
        "in/accelerator.conf",
        "in/linked/part.py",
        f"{above}/theirs/__init__.py",
        f"{above}/theirs/part.py",
    }
    assert listing["folders"][str(tmp_path / "more")] == above
    assert listing["folders"][str(node.project)] == "in"


@pytest.mark.parametrize("part", ["folders", "inputs", "code", "data"])
def test_no_list_leads_out(node: Node, part: str, tmp_path: Path) -> None:
    work, sources = node.work()
    listing = json.loads(sources[work.listed][0])  # type: ignore[arg-type]
    content = next(iter(listing["data"].values()))
    listing[part]["x"] = "in/../../../../escaped"
    if part in ("code", "data"):
        listing[part] |= {"in/../../../../escaped": content}
        del listing[part]["x"]
    text = json.dumps(listing).encode()
    listed = hashlib.sha256(text).hexdigest()
    for each, (source, size) in {**sources, listed: (text, len(text))}.items():
        data = source if isinstance(source, bytes) else source.read_bytes()
        assert node.cache.put([Piece(each, size, 0, data)], "aa") == ""
    with pytest.raises(ValueError, match="no path in a mirror"):
        compute_batch(work._replace(listed=listed), [1])
    assert not [*tmp_path.rglob("escaped")]


def test_paths_are_those_of_the_project() -> None:
    where: Mirrored = {
        "project": "/p r",
        "code": "/c/1",
        "data": "/c/2",
        "lock": "/c/2.lock",
        "inputs": {},
        "whole": [],
        "absent": [],
    }
    assert original("/c/1/in/a/b.py", where) == "/p r/a/b.py"
    assert original("/c/2/out/data/x", where) == "/data/x"
    assert original("/c/2/in", where) == "/p r"
    assert original("/c/22/in/a", where) == "/c/22/in/a"
    lines = [
        {"loaded": {"a": ["/c/1/in/a.py", "hash"], "b": ["/lib/b.py", "hash"]}},
        {"opened": "/c/2/in/x"},
        {"located": "/c/2/in/y", "content": "z", "state": [], "settled": True},
    ]
    said = translated(b"".join(json.dumps(line).encode() + b"\n" for line in lines), where)
    assert [json.loads(line) for line in said.splitlines()] == [
        {"loaded": {"a": ["/p r/a.py", "hash"], "b": ["/lib/b.py", "hash"]}},
        {"opened": "/p r/x"},
    ]
    assert translated(b"anything", None) == b"anything"
