"""A disk without a byte left: whoever looks is shown all, and jobs can be deleted to make room."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest
from toy_jobs import ToyJobs, toy_project
from without_root import commands, mounted


def test_looking_and_deleting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=6M", "tmpfs"):
        folder = toy_project(tmp_path)
        monkeypatch.chdir(folder)
        jobs = ToyJobs(folder)
        for number in (1, 2):
            jobs.make("A", options={"number": number}, large=100_000)
        jobs.ended()
        filler = os.open(folder / "filler", os.O_CREAT | os.O_WRONLY)
        with contextlib.suppress(OSError):
            while True:
                os.write(filler, bytes(4096))
        os.close(filler)
        assert shutil.disk_usage(folder).free == 0
        looking = [("jobs",), ("show", "main-1"), ("why", "main-1"), ("verify",), ("gc",)]
        for done in commands(folder, *looking):
            assert done.status == 0, done
        (refused,) = commands(folder, ("run", "toy"))
        assert refused.status == 1
        assert refused.err.startswith("shortloop: the disk is full")
        (deleted,) = commands(folder, ("gc", "--delete"))
        assert deleted.status == 0, deleted
        assert "deleted 1 job" in deleted.out
        assert shutil.disk_usage(folder).free >= 90_000
        listed, checked = commands(folder, ("jobs",), ("verify",))
        assert [line.split()[-1] for line in listed.out.splitlines()[1:3]] == ["deleted", "current"]
        assert checked.status == 0
        monkeypatch.chdir("/")


def test_a_project_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path, "-t", "tmpfs", "-o", "size=24k", "tmpfs"):
        (tmp_path / "there").mkdir()
        for name in ("new", "there"):
            (refused,) = commands(tmp_path, ("init", name))
            assert refused.status == 1
            assert refused.err.startswith("shortloop: the disk is full")
        assert [each.name for each in tmp_path.iterdir()] == ["there"]
        assert not any((tmp_path / "there").iterdir())
