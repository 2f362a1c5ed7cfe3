"""A disk full of bytes or files: the run says so, nothing half-written is used, and the next one goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cases import first_cases
from live_project import in_short_folder
from toy_project import DagProject, chains, expected

SIZE = 9_000_000
INODES = 900


@pytest.fixture(scope="module")
def toy() -> Iterator[DagProject]:
    """Jobs on a disk of their own, in memory."""
    with in_short_folder(DagProject) as made:
        disk = made.folder / "workdirs"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},nr_inodes={INODES}", "tmpfs", str(disk)]
        if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode != 0:
            pytest.skip("only root can mount a small disk")
        try:
            made.start_server()
            made.write_dag(chains(0))
            made.go()
            yield made
        finally:
            made.stop_server()
            subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path, left: int) -> None:
    """Leave that many bytes, in whole pages."""
    page = os.sysconf("SC_PAGE_SIZE")
    (disk / "filler").write_bytes(bytes(shutil.disk_usage(disk).free - left // page * page))


@first_cases(2, "left", [0, 60_000, 180_000])
def test_a_disk_that_gets_full(toy: DagProject, left: int) -> None:
    disk = toy.folder / "workdirs"
    nodes = chains(1 + left // 1000)
    toy.write_dag(nodes)
    before = toy.finished()
    fill(disk, left)
    failed = toy.end(toy.start())
    assert failed.status == 1
    assert ("the disk is full" in failed.said) or (left == 0 and "No space left on device" in failed.said)
    kept = toy.finished() - before
    (disk / "filler").unlink()
    ran = toy.go()
    toy.check(ran, expected(nodes))
    assert ran.reused == kept


def test_arrays_that_are_written_through_a_map(toy: DagProject) -> None:
    """What does not fit is an error with a message; without one, the system kills the process."""
    nodes = chains(900, 1, length=SIZE // 8)
    toy.write_dag(nodes)
    failed = toy.end(toy.start())
    assert failed.status == 1
    assert "No space left on device" in failed.said
    assert "exitcode -7" not in failed.said
    nodes = chains(900, 1, length=1000)
    toy.write_dag(nodes)
    ran = toy.go()
    toy.check(ran, expected(nodes))
    assert np.load(toy.job_folder(ran.jobs[0]) / "x.npy").shape == (4, 1000)


@first_cases(2, "left", [0, 12, 4, 30])
def test_a_disk_with_too_many_files(toy: DagProject, left: int) -> None:
    disk = toy.folder / "workdirs"
    nodes = chains(700 + left)
    toy.write_dag(nodes)
    before = toy.finished()
    many = disk / "many"
    many.mkdir()
    for number in range(os.statvfs(disk).f_favail - left):
        (many / str(number)).touch()
    assert shutil.disk_usage(disk).free > 500_000
    try:
        # With none left, exax can neither begin a run nor say why, so that is looked at before.
        failed = toy.end(toy.start() if left else toy.start_command())
    finally:
        shutil.rmtree(many)
    assert failed.status == 1
    assert "no inodes are left, because there are too many files" in failed.said
    assert "delete files" in failed.said
    assert failed.said.count("shortloop: ") == 1
    kept = toy.finished() - before
    ran = toy.go()
    toy.check(ran, expected(nodes))
    assert ran.reused == kept
