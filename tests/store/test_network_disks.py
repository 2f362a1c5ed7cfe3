"""A project on a network file system: locks as NFS gives them, and an index without shared memory."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project

from shortloop.run.runs import RUNNING, read_run, recorded
from shortloop.store import database
from shortloop.store.database import connect, is_on_network

project = pytest.fixture(autouse=True)(empty_project)


@pytest.fixture(autouse=True)
def nfs(monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS makes of a lock of a file one of all its bytes, which is for those who may write, or read."""
    original = fcntl.flock

    def flock(file: Any, operation: int) -> None:
        descriptor = file if isinstance(file, int) else file.fileno()
        access = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
        lacks = os.O_RDONLY if operation & fcntl.LOCK_EX else os.O_WRONLY
        if operation & (fcntl.LOCK_EX | fcntl.LOCK_SH) and access == lacks:
            raise OSError(errno.EBADF, "Bad file descriptor")
        original(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)


def test_a_run_is_recorded_and_seen_to_run() -> None:
    with recorded("toy", None, ""):
        assert read_run(1)[1] == RUNNING
    assert read_run(1)[1] == "0"


@pytest.mark.parametrize(("kind", "mode"), [("nfs4", "delete"), ("lustre", "delete"), ("ext4", "wal")])
def test_the_index_is_kept_as_the_disk_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, mode: str
) -> None:
    device = os.stat(tmp_path).st_dev
    mounts = tmp_path / "mountinfo"
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /there rw shared:1 - {kind} server:/x rw\n"
    mounts.write_text(f"22 1 0:5 / /dev rw shared:1 - devtmpfs udev rw\n{line}")
    assert is_on_network(tmp_path, mounts) == (mode == "delete")
    monkeypatch.setattr(database, "is_on_network", lambda folder: is_on_network(folder, mounts))
    connection, kept = connect(tmp_path / "index.sqlite")
    assert kept
    assert connection.execute("pragma journal_mode").fetchone() == (mode,)
    connection.execute("create table t (x)")
    connection.close()
    assert sqlite3.connect(tmp_path / "index.sqlite").execute("select * from t").fetchall() == []
