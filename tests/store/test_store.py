"""Finding finished jobs: only those that are whole, wherever they came from."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for, parts_with, recorded_job

from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.stages.records import create_array
from shortloop.store import store as room
from shortloop.store.manifest import MANIFEST, Manifest, read_manifest, write_manifest
from shortloop.store.store import Store

project = pytest.fixture(empty_project)
ONE, TWO = parts_with(options={"number": 1}), parts_with(options={"number": 2})
KEY = ONE.key()


def find(key: str = KEY) -> str | None:
    """Id of the job that a new process finds."""
    with Store() as store:
        found = store.find(key)
    return None if found is None else found.job


@pytest.fixture
def folder(project: Path) -> Path:
    """A job that was found before, so that the index knows the states of its files."""
    recorded_job(project, "main-1", ONE)
    assert find() == "main-1"
    return project / "workdirs/main/main-1"


def test_a_job_is_found_by_its_key_alone(folder: Path) -> None:
    with Store() as store:
        assert store.find(parts_with(options={"number": 3}).key()) is None
        found = store.find(KEY)
    manifest = read_manifest(folder)
    assert found is not None
    assert manifest is not None
    assert (found.path, found.content) == (folder, manifest.content)
    assert (found.seconds, found.rejected) == (1.5, False)


def test_the_newest_of_many_is_found(project: Path) -> None:
    for number in (3, 10, 2):
        recorded_job(project, f"main-{number}", ONE)
    recorded_job(project, "other-4", TWO)
    assert find() == "main-10"
    assert find(TWO.key()) == "other-4"  # jobs of every workdir are found
    with Store() as store:
        assert store.folder("other-4") == project / "elsewhere/other/other-4"
        assert store.folder("third-4") is None
        assert store.manifest_of("") is None
    (project / "workdirs/main/main-10/x.npy").write_bytes(b"damaged")
    assert find() == "main-3"


def test_a_touched_or_copied_job_is_read_once_and_reused(
    project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in folder.iterdir():
        file.touch()
    assert find() == "main-1"
    shutil.copytree(project / "workdirs", project / "copied")
    shutil.rmtree(project / "workdirs")
    (project / "copied").rename(project / "workdirs")
    assert find() == "main-1"
    monkeypatch.setattr(room, "damage", lambda *args: pytest.fail("read all of it"))
    assert find() == "main-1"
    project.rename(project.with_name("elsewhere"))
    monkeypatch.chdir(project.with_name("elsewhere"))
    assert find() == "main-1"


def test_a_lost_index_believes_no_manifest_without_reading(project: Path, folder: Path) -> None:
    manifest = read_manifest(folder)
    assert manifest is not None
    write_manifest(folder, replace(manifest, parts=TWO, key=TWO.key()))
    shutil.rmtree(project / "workdirs/main/.shortloop")
    assert find(TWO.key()) is None
    assert not (folder / FINISHED).exists()


def test_jobs_are_found_at_once_and_recorded_in_the_background(project: Path) -> None:
    folders = [finished_job(project, f"main-{number}", b"%d" % number) for number in range(20)]
    parts = [parts_with(options={"number": number}) for number in range(20)]
    with Store() as store:
        for folder, each in zip(folders, parts):
            store.add(folder, manifest_for(folder, each))
            found = store.find(each.key())
            assert found is not None
            assert found.path == folder
    assert all(read_manifest(folder) is not None for folder in folders)
    assert [find(each.key()) for each in parts] == [folder.name for folder in folders]


def test_several_are_put_on_disk_at_a_time_and_the_index_has_them_in_their_order(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [finished_job(project, f"main-{number}") for number in (1, 2)]
    second_is_written = threading.Event()

    def write(folder: Path, manifest: Manifest) -> None:
        if folder.name == "main-1":
            assert second_is_written.wait(60)
        write_manifest(folder, manifest)
        if folder.name == "main-2":
            second_is_written.set()

    monkeypatch.setattr(room, "write_manifest", write)
    with Store() as store:
        for folder in folders:
            store.add(folder, manifest_for(folder, ONE))
    assert find() == "main-2"  # the newest
    (folders[1] / MANIFEST).unlink()
    assert find() == "main-1"


def test_jobs_alike_but_for_one_option(project: Path) -> None:
    for number, count in enumerate([100, 1000, 500]):
        parts = parts_with(options={"count": count, "seed": 1})
        recorded_job(project, f"main-{number}", parts, base=parts.key(without="count"))
    other = parts_with(options={"count": 100, "seed": 2})
    recorded_job(project, "main-7", other, base=other.key(without="count"))
    base = parts.key(without="count")
    with Store() as store:
        assert [each.job for each in store.find_alike(base)] == ["main-2", "main-1", "main-0"]
    (project / "workdirs/main/main-1/x.npy").unlink()
    with Store() as store:
        assert [each.job for each in store.find_alike(base)] == ["main-2", "main-0"]


def test_jobs_alike_are_found_before_they_are_on_disk(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()

    def write(folder: Path, manifest: Manifest) -> None:
        assert go_on.wait(10)
        write_manifest(folder, manifest)

    monkeypatch.setattr(room, "write_manifest", write)
    base = ONE.key(without="number")
    with Store() as store:
        for name, parts in (("main-1", ONE), ("main-2", TWO), ("main-3", parts_with())):
            folder = finished_job(project, name)
            store.add(folder, manifest_for(folder, parts, base if name != "main-3" else ""))
        assert [each.job for each in store.find_alike(base)] == ["main-2", "main-1"]
        assert store.find_alike("") == []
        go_on.set()
        store.written()
        assert [each.job for each in store.find_alike(base)] == ["main-2", "main-1"]


def failing(name: str) -> Callable[[int], None]:
    """`os.fsync` that fails for one file."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").rpartition("/")[2].startswith(name):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    return fsync


@pytest.mark.parametrize("what", ["result", "manifest", "folder"])
def test_a_job_that_is_not_on_disk_is_set_aside_or_has_no_manifest(
    project: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    folder = finished_job(project, "main-1")
    store = Store()
    manifest = manifest_for(folder)
    if what == "folder":
        (folder / MANIFEST).mkdir()
    else:
        monkeypatch.setattr(os, "fsync", failing("x.npy" if what == "result" else f".{MANIFEST}"))
    store.add(folder, manifest)
    with pytest.raises(OSError, match=MANIFEST if what == "folder" else "Input/output error"):
        store.close()
    assert not (folder / MANIFEST).is_file()
    assert (folder / FINISHED).exists() == (what != "result")
    assert (folder / SET_ASIDE).exists() == (what == "result")


def test_arrays_have_their_space_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create_array("x", (1000, 1000), "f8")
    assert Path("x.npy").stat().st_blocks * 512 >= 8_000_000
