"""Manifests: what was recorded is read back, and whatever happened to a file since is noticed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for, parts_with

from shortloop.keys.hashing import digest
from shortloop.keys.key import Parts
from shortloop.store.integrity import damage, states_of
from shortloop.store.manifest import MANIFEST, manifest_problem, read_manifest, write_manifest

project = pytest.fixture(empty_project)


@pytest.fixture
def folder(project: Path) -> Path:
    """A recorded job with a file in a folder of its own, and what it printed."""
    job = finished_job(project, "main-3")
    (job / "more").mkdir()
    (job / "more" / "y.npy").write_bytes(b"more")
    (job / "OUTPUT").mkdir()
    (job / "OUTPUT" / "synthesis").write_text("said", encoding="utf-8")
    write_manifest(job, manifest_for(job))
    return job


def test_a_manifest_is_read_as_it_was_written(project: Path) -> None:
    folder = finished_job(project, "main-3")
    manifest = replace(
        manifest_for(folder, parts_with(options={"a": [1, 2.5, None], "b": {"c": "ä→"}})),
        base="b",
        partition="S01",
        pipeline="build small",
        reason="new",
        previous="main-1",
        cost={"seconds": 0.1 + 0.2, "bytes": 7},
    )
    write_manifest(folder, manifest)
    assert read_manifest(folder) == manifest
    assert [file.name for file in folder.iterdir() if "manifest" in file.name] == [MANIFEST]


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    stat = file.stat()
    file.write_bytes(content)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert file.stat().st_size == stat.st_size


def make_a_folder_of_it(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("name", ["x.npy", "more/y.npy", "record.json", "setup.json", "post.json"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Path.unlink, "is missing"),
        (make_a_folder_of_it, "is missing"),
        (lambda file: os.truncate(file, file.stat().st_size - 1), "is cut short"),
        (lambda file: os.truncate(file, 0), "is cut short: 0 of"),
        (lambda file: file.write_bytes(file.read_bytes() + b"\0"), "has grown"),
        (flip_a_bit, "was altered"),
    ],
)
def test_damage_is_noticed(folder: Path, name: str, change: Callable[[Path], None], said: str) -> None:
    names = [*(read_manifest(folder) or manifest_for(folder)).files, MANIFEST]
    before = states_of(folder, names)
    change(folder / name)
    manifest = read_manifest(folder)
    assert manifest is not None
    found = damage(folder, manifest)
    assert found is not None
    assert name in found
    assert said in found
    try:
        after = states_of(folder, names)
    except OSError:
        after = []
    assert after != before  # the cheap check sees it too


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_changed_byte_of_a_manifest_goes_unnoticed(folder: Path, data: st.DataObject) -> None:
    """A manifest is damaged, or says the same."""
    file = folder / MANIFEST
    content, before = file.read_bytes(), read_manifest(folder)
    where = data.draw(st.integers(0, len(content) - 1))
    other = bytes([data.draw(st.integers(0, 255))])
    try:
        file.write_bytes(content[:where] + other + content[where + 1 :])
        assert read_manifest(folder) in (None, before)
        file.write_bytes(content[:where])
        assert read_manifest(folder) is None
    finally:
        file.write_bytes(content)


def test_a_manifest_of_another_job_or_key_is_none(folder: Path) -> None:
    """Its own hash is right."""
    manifest = read_manifest(folder)
    assert manifest is not None
    for forged, said in [
        (replace(manifest, job="main-4"), "manifest.json is that of main-4"),
        (replace(manifest, key="0" * 40), "manifest.json has another key than its parts"),
        (replace(manifest, parts=parts_with(options={"number": 2})), "another key"),
    ]:
        write_manifest(folder, forged)
        assert read_manifest(folder) is None
        assert said in str(manifest_problem(folder))
    write_manifest(folder, manifest)
    assert manifest_problem(folder) is None
    rewrite(folder, lambda plain: plain.pop("project"))  # from before it named its project
    assert read_manifest(folder) == manifest
    (folder / MANIFEST).unlink()
    assert manifest_problem(folder) == "manifest.json is missing"
    shutil.rmtree(folder)
    assert damage(folder, manifest) == "its folder is missing"


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a manifest says, and make its own hash and its key fit."""
    plain = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    del plain["hash"]
    change(plain)
    if isinstance(plain.get("parts"), dict):
        with contextlib.suppress(TypeError, AttributeError):  # such parts have no key
            plain["key"] = Parts(**plain["parts"]).key()
    (folder / MANIFEST).write_text(json.dumps({**plain, "hash": digest(plain)}), encoding="utf-8")


FORMS: list[Any] = [None, 1, 0.5, "x", [], {}, {"x": 1}, {"x": ["1", 2]}, True]
OF_A_MANIFEST = ("files", "parts", "content", "cost", "rejected", "project", "partition")
OF_PARTS = ("method", "code", "versions", "options", "inputs")


@pytest.mark.parametrize("name", [*OF_A_MANIFEST, *(f"parts.{name}" for name in OF_PARTS), "cost.seconds"])
def test_a_manifest_of_another_form_is_none_or_can_be_checked(folder: Path, name: str) -> None:
    text = (folder / MANIFEST).read_bytes()
    above, _, name = name.rpartition(".")
    for value in FORMS:

        def change(plain: dict[str, Any], value: Any = value) -> None:
            (plain[above] if above else plain)[name] = value

        rewrite(folder, change)
        manifest = read_manifest(folder)
        assert manifest is None or isinstance(damage(folder, manifest), str | None)
        assert name != "seconds" or manifest is None or value in (1, 0.5)
        (folder / MANIFEST).write_bytes(text)
