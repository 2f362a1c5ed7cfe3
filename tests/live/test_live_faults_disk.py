"""A full disk: the run says so, nothing half-written is used, and with room again the next one goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from toy_project import DagProject, chains, expected

pytestmark = pytest.mark.live

SIZE = 4_000_000


@pytest.fixture(scope="module")
def toy() -> Iterator[DagProject]:
    """Jobs on a disk of their own, in memory."""
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        made = DagProject(Path(folder))
        disk = made.folder / "workdirs"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
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
    free = shutil.disk_usage(disk).free
    (disk / "filler").write_bytes(bytes(free - left // page * page))


@pytest.mark.parametrize("left", [0, 60_000, 180_000])
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
