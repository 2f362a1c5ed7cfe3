"""Files in a plan: their contents where they are known, and read only once more."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project, files_read, own_package, write
from jobs_recorded import recorded_job

from shortloop.keys.key import parts_of
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE
from shortloop.plan.planner import Lookup, Planner
from shortloop.store.index import Place
from shortloop.store.inputs import content_of, known_content, register
from shortloop.store.manifest import write_manifest
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
package = pytest.fixture(own_package)


@pytest.fixture
def file(package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that was read some time ago."""
    write(
        package,
        "methods/a_first.py",
        "options = {'files': {}, 'partition': None}\n\ndef synthesis():\n    pass\n",
    )
    file = write(package, "a.npz", "one")
    monkeypatch.setattr("shortloop.keys.file_state.SETTLED_NS", 0)
    time.sleep(0.01)
    register([file])
    return file


def test_what_was_read_when_it_was_young_is_read_once_more(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan right after a run of files that were copied a moment before knows them, too."""
    read = files_read(monkeypatch)
    file, other = (write(package, f"{name}.npz", name) for name in "ab")
    (content,) = register([file])
    assert read == [file]
    assert known_content([file, other]) == [content, ""]
    assert read == [file, file]
    time.sleep(0.02)  # a tick of the file system's clock
    file.write_text("c", encoding="utf-8")  # of the same size
    assert known_content([file]) == [""]
    register([file])
    read.clear()
    monkeypatch.setattr("shortloop.keys.file_state.SETTLED_NS", 0)
    (changed,) = known_content([file])
    assert changed not in ("", content)
    assert known_content([file]) == content_of([file]) == [changed]
    assert read == [file]  # now it is old, and its hash is kept
    register([file])
    file.unlink()
    assert known_content([file]) == [""]


def planned(contents: list[str], pipeline: str = "p") -> tuple[str, str]:
    with Store() as store:
        plan = Planner(Lookup(store, pipeline))
        job = plan.build("first", partition="A", files={"study": contents})
    return job.plan, job.reason


def test_a_job_of_a_file_that_is_not_read_is_perhaps_built(file: Path) -> None:
    contents = known_content([file])
    assert planned(contents) == (BUILD, "new")
    assert planned([""]) == (BUILD, "new")

    options: dict[str, Any] = {"files": {"study": contents}, "partition": "A"}
    made = recorded_job(Path.cwd(), "main-0", parts_of("first", options, {}))
    manifest = replace(made, partition="A")
    write_manifest(Path.cwd() / "workdirs/main/main-0", manifest)
    with Store() as store:
        store.index.insert(manifest, [])
        store.index.put_in_places({Place("p", "first", "A", ""): "main-0"})
    assert planned(contents) == (REUSE, "")
    for pipeline in ("p", "another"):
        assert planned([""], pipeline) == (PERHAPS, "if the content of its unread files changed")
    file.write_text("two!", encoding="utf-8")
    (changed,) = register([file])
    assert planned([changed]) == (BUILD, "file a.npz was changed")
    assert planned([*contents, ""]) == (BUILD, "one more file")
