"""A worker computes where the project is not: in folders made of what it was sent. What it notes is said with
the paths of the project."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3
from engine_node import Node, named, node_without_project, notes, values
from source_tree import ROOT

from shortloop.engines import worker
from shortloop.engines.worker import compute_batch
from shortloop.keys.code import Code
from shortloop.units.listing import list_needs
from shortloop.units.messages import JobWork
from shortloop.units.node_cache import Files, Mirror, Piece
from shortloop.units.sandbox import translated

node = pytest.fixture(node_without_project)


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
    """And a cache that was damaged is mended."""
    assert values(node.computed(1))[0]["x"] == 42.0
    for each in (node.cache._folder / "contents").glob("*/*"):
        os.chmod(each, 0o600)
        each.write_bytes(each.read_bytes()[:-1])
    worker._processes._idle.clear()
    assert values(node.computed(1))[0]["x"] == 42.0
    (node.project / "beside.py").write_text("FACTOR = 3.0\n", encoding="utf-8")
    assert values(node.computed(1, read=""))[0]["x"] == 63.0
    (node.project / "data/in put.txt").write_text("22", encoding="utf-8")
    assert values(node.computed(2))[0]["x"] == 42.0  # the process of the job, which is that of before
    worker._processes._idle.clear()
    assert values(node.computed(2))[0]["x"] == 66.0


def test_nothing_stays_open_where_no_mirror_can_be_made(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
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
        worker.placed(work)
    assert len(os.listdir("/proc/self/fd")) == len(before)


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
        "shortloop.stages.stage": ROOT / "shortloop/stages/stage.py",
    }
    listing = json.loads(list_needs(said, Code({}, {}, {}, modules, [], []))[0])
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
    listed = blake3(text).hexdigest()
    for each, (source, size) in {**sources, listed: (text, len(text))}.items():
        data = source if isinstance(source, bytes) else source.read_bytes()
        assert node.cache.put([Piece(each, size, 0, data)], "aa") == ""
    with pytest.raises(ValueError, match="no path in a mirror"):
        compute_batch(work._replace(listed=listed), named(1))
    assert not [*tmp_path.rglob("escaped")]


def test_paths_are_those_of_the_project() -> None:
    empty: Any = {"inputs": {}, "whole": [], "absent": []}
    where: Any = {"project": "/p r", "code": "/c/1", "data": "/c/2", **empty}
    loaded = {"a": ["/c/1/in/a.py", "hash"], "b": ["/lib/b.py", "hash"], "c": ["/c/22/in/a", "hash"]}
    opened = [{"opened": name} for name in ("/c/2/in/x", "/c/2/out/data/x", "/c/2/in")]
    located = {"located": "/c/2/in/y", "content": "z", "state": [], "settled": True}
    lines = [{"loaded": loaded}, *opened, located]
    said = translated(b"".join(json.dumps(line).encode() + b"\n" for line in lines), where)
    assert [json.loads(line) for line in said.splitlines()] == [
        {"loaded": {**loaded, "a": ["/p r/a.py", "hash"]}},
        *({"opened": name} for name in ("/p r/x", "/data/x", "/p r")),
    ]
    assert translated(b"anything", None) == b"anything"
