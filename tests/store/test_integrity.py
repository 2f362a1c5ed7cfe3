"""A whole job is what its manifest says, and its content the same whenever and however it was made."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for, parts_with, recorded_job

from shortloop.base.errors import InputError
from shortloop.store.integrity import added_files, content_of_job, damage, hash_outputs, output_files
from shortloop.store.manifest import Manifest, read_manifest, write_manifest

project = pytest.fixture(empty_project)
TYPICAL = {"number": 1, "settings": {"C": [0.1, 1]}, "classes": ["left", "right"], "partition": "A"}


@pytest.fixture
def folder(project: Path) -> Path:
    recorded_job(project, "main-3", parts_with(options=TYPICAL))
    return project / "workdirs/main/main-3"


def manifest_of(folder: Path) -> Manifest:
    manifest = read_manifest(folder)
    assert manifest is not None
    return manifest


def forge(folder: Path, **changes: Any) -> str | None:
    """What is wrong with a job whose manifest says something else, and whose hashes all agree."""
    manifest = replace(manifest_of(folder), **changes)
    write_manifest(folder, replace(manifest, key=manifest.parts.key()))
    return damage(folder, manifest_of(folder))


def rewrite_manifest(folder: Path) -> None:
    """Bring the hashes up to date."""
    files = hash_outputs(folder, output_files(folder))
    write_manifest(folder, replace(manifest_of(folder), files=files))


def test_a_manifest_that_says_something_else(folder: Path) -> None:
    assert forge(folder, content="0" * 40) == "its manifest has another content hash than its files"
    before = manifest_of(folder)
    write_manifest(folder, replace(before, content=content_of(folder)))
    said = forge(folder, parts=parts_with(options=TYPICAL, method="methods.other"))
    assert said == "its manifest says methods.other, and setup.json methods.toy"
    write_manifest(folder, replace(before, content=content_of(folder)))
    files = {name: found for name, found in before.files.items() if name != "x.npy"}
    content, _ = content_of_job(folder, files)  # a result that it leaves out would not be checked any more
    assert forge(folder, files=files, content=content) == "has a result file that it did not write: x.npy"


@pytest.mark.parametrize(("problem", "rejected"), [(None, True), ("bad", False)])
def test_a_rejection_that_was_none_and_one_that_is(folder: Path, problem: str | None, rejected: bool) -> None:
    change_record(folder, problem=problem)
    rewrite_manifest(folder)
    content, _ = content_of_job(folder, manifest_of(folder).files)
    said = forge(folder, content=content, rejected=rejected)
    assert (
        said == f"its manifest says that it {'' if rejected else 'did not '}reject{'ed' * rejected} its input"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"number": 2},
        {"number": 1.5},
        {"settings": {"C": [0.1, 10]}},
        {"settings": {"C": [0.1, 1, 10]}},
        {"classes": ["left"] * 3},
        {"settings": {}},
        {"settings": {"C": [0.1, 1], "D": 1}},
        {"classes": ["left", "up"]},
        {"partition": "B"},
        {"more": 1},
    ],
)
def test_other_options(folder: Path, change: dict[str, Any]) -> None:
    said = forge(folder, parts=parts_with(options={**TYPICAL, **change}))
    (name,) = change
    assert said is not None
    assert said.startswith(f"its manifest says {name} = ")


@pytest.mark.parametrize(
    ("given", "noted"),
    [
        (1, 1.0),
        ("5", 5),
        (1, True),
        (5, "5"),
        (["b", "a", "b"], ["a", "b"]),
        ([1], [1, "default"]),
        ([1, 2], [1.0, 2.0]),
        ("2020-01-02", [2020, 1, 2]),
        ({"a": 1}, {"a": 1.0}),
        (None, 0),
    ],
)
def test_options_that_exax_notes_in_the_type_of_the_default(folder: Path, given: Any, noted: Any) -> None:
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    setup["options"] = {"x": noted, "default": 3}
    (folder / "setup.json").write_text(json.dumps(setup), encoding="utf-8")
    rewrite_manifest(folder)
    assert forge(folder, parts=parts_with(options={"x": given})) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"method": "toy"}', "\0"])
def test_notes_of_exax_that_cannot_be_read(folder: Path, text: str) -> None:
    (folder / "setup.json").write_text(text, encoding="utf-8")
    rewrite_manifest(folder)
    assert "cannot be read" in str(damage(folder, manifest_of(folder)))


def add_a_note(folder: Path) -> None:
    (folder / "notes.txt").write_text("mine", encoding="utf-8")


def add_a_hidden_file(folder: Path) -> None:
    (folder / ".hidden").write_text("x", encoding="utf-8")


def lose_what_was_printed(folder: Path) -> None:
    (folder / "OUTPUT").mkdir()
    (folder / "OUTPUT/synthesis").write_text("said", encoding="utf-8")
    shutil.rmtree(folder / "OUTPUT")


@pytest.mark.parametrize("change", [add_a_note, add_a_hidden_file, lose_what_was_printed])
def test_what_nobody_reads_does_no_damage(folder: Path, change: Callable[[Path], None]) -> None:
    change(folder)
    assert damage(folder, manifest_of(folder)) is None
    assert added_files(folder, manifest_of(folder)) == (["notes.txt"] if change is add_a_note else [])


@pytest.mark.parametrize("name", ["more.npy", "below/x.npy", "x.npz", "result.pickle"])
def test_a_file_that_would_be_taken_for_a_result_is_damage(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x")
    assert damage(folder, manifest_of(folder)) == f"has a result file that it did not write: {name}"


def bound_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(file))  # whose path must be short


def device(file: Path) -> None:
    try:
        os.mknod(file, 0o600 | 0o020000, os.makedev(1, 5))  # as /dev/zero, which never ends
    except PermissionError:
        pytest.skip("only root can make a device")


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (lambda file: file.symlink_to("record.json"), "a link"),
    "link to a folder": (lambda file: file.symlink_to("/"), "a link"),
    "link to nothing": (lambda file: file.symlink_to("nowhere"), "a link"),
    "link to itself": (lambda file: file.symlink_to(file.name), "a link"),
    "pipe": (os.mkfifo, "a pipe"),
    "socket": (bound_socket, "a socket"),
    "device": (device, "a device"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_leaves_one_and_a_file_that_became_one(project: Path, kind: str) -> None:
    make, words = KINDS[kind]
    folder = finished_job(project, "main-3", left=b"")  # of the size that a pipe has
    manifest = manifest_for(folder)
    write_manifest(folder, manifest)
    (folder / "x.npy").unlink()
    make(folder / "x.npy")
    assert damage(folder, manifest) == f"x.npy is {words} now"
    (folder / "more").mkdir()
    (folder / "x.npy").rename(folder / "more" / "x\x1b")
    with pytest.raises(InputError) as caught:
        hash_outputs(folder, output_files(folder))
    assert caught.value.found == words
    assert r"main-3/more/x\x1b" in caught.value.message
    assert caught.value.hint


def content_of(folder: Path) -> str:
    return content_of_job(folder, hash_outputs(folder, output_files(folder)))[0]


def change_record(folder: Path, **changes: Any) -> None:
    file = folder / "record.json"
    plain = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**plain, **changes}), encoding="utf-8")


def test_how_it_was_made_does_not_count(project: Path) -> None:
    folder = finished_job(project, "main-1")
    before = content_of(folder)
    for name in ("setup.json", "post.json"):
        (folder / name).write_text('{"starttime": 3}', encoding="utf-8")
    (folder / "method.tar.gz").write_bytes(b"other code")
    (folder / "OUTPUT").mkdir()
    (folder / "OUTPUT" / "synthesis").write_text("said", encoding="utf-8")
    (folder / ".progress").write_text("0.5", encoding="utf-8")
    change_record(folder, versions={"python": "3.13"}, threads=[])
    assert content_of(folder) == before
    assert content_of(finished_job(project, "other-5")) == before
    plain = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    reversed_record = json.dumps(dict(reversed(plain.items())), indent=3)  # in another order, with spaces
    (folder / "record.json").write_text(reversed_record, encoding="utf-8")
    assert content_of(folder) == before


@pytest.mark.parametrize(
    "changes",
    [{"facts": {"a": 1}}, {"arrays": {"x": {"shape": [2]}}}, {"stage": "other"}, {"partition": "S01"}],
)
def test_what_its_record_says_counts(folder: Path, changes: dict[str, Any]) -> None:
    before = content_of(folder)
    change_record(folder, **changes)
    assert content_of(folder) != before


def test_every_file_counts_with_its_name(folder: Path) -> None:
    seen = {content_of(folder)}
    (folder / "x.npy").write_bytes(b"another")
    seen.add(content_of(folder))
    (folder / "x.npy").rename(folder / "y.npy")
    seen.add(content_of(folder))
    (folder / "more").mkdir()
    (folder / "y.npy").rename(folder / "more" / "y.npy")
    seen.add(content_of(folder))
    (folder / "more" / "y.npy").unlink()
    seen.add(content_of(folder))
    assert len(seen) == 5
