"""What a job left that the system could not put on disk is not known any more; what has no manifest is."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs_project import empty_project
from jobs_recorded import finished_job, manifest_for

from shortloop.project.project import FINISHED, SET_ASIDE
from shortloop.stages.records import create_array
from shortloop.store.manifest import MANIFEST
from shortloop.store.store import Store

project = pytest.fixture(empty_project)


def failing(name: str) -> Callable[[int], None]:
    """`os.fsync` that fails for one file."""
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").rpartition("/")[2].startswith(name):
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    return fsync


def test_a_job_that_is_not_on_disk_is_set_aside(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = finished_job(project, "main-1")
    monkeypatch.setattr(os, "fsync", failing("x.npy"))
    store = Store()
    store.add(folder, manifest_for(folder))
    with pytest.raises(OSError, match="Input/output error"):
        store.close()
    assert not (folder / MANIFEST).exists()
    assert not (folder / FINISHED).exists()
    assert (folder / SET_ASIDE).exists()


def test_a_job_whose_manifest_is_not_on_disk_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = finished_job(project, "main-1")
    monkeypatch.setattr(os, "fsync", failing(f".{MANIFEST}"))
    store = Store()
    store.add(folder, manifest_for(folder))
    with pytest.raises(OSError, match="Input/output error"):
        store.close()
    assert not (folder / MANIFEST).exists()
    assert (folder / FINISHED).exists()


def test_arrays_have_their_space_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    create_array("x", (1000, 1000), "f8")
    assert Path("x.npy").stat().st_blocks * 512 >= 8_000_000
