"""Files that are deleted, cut short or altered, by hand, by `ax gc` or by a power cut: nothing of them is
used, what is whole is, and the next run needs no work by hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from live_project import AX
from toy_project import DagProject, before_the_cut, expected


def deleted(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    os.truncate(file, 0)


def zeros(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def one_bit(file: Path) -> None:
    """The size and the time of modification stay."""
    stat = file.stat()
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


Damages = dict[int, tuple[str, Callable[[Path], object]]]


def altered(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-2] + b"??")


@pytest.mark.parametrize(
    "what",
    [
        {
            0: ("x.npy", one_bit),
            1: ("manifest.json", altered),
            2: ("x.npy", deleted),
            3: ("", shutil.rmtree),
        },
        pytest.param({1: ("record.json", altered), 3: ("post.json", altered)}, marks=pytest.mark.slow),
    ],
)
def test_damaged_results(toy: DagProject, what: dict[int, tuple[str, Callable[[Path], None]]]) -> None:
    """They are made again, and nothing below; also by a server that was not told to look."""
    nodes = toy.new_chains()
    before = toy.go()
    for number, (name, damage) in what.items():
        damage(toy.job_folder(before.jobs[number]) / name)
    ran = toy.go(AX, "run", "-q", "dag")
    toy.check(ran, expected(nodes))
    assert ran.fresh == [number in what for number in range(5)]
    for number, (name, _) in what.items():
        assert not name or f"{before.jobs[number]} was damaged: {name}" in ran.said
        assert not (toy.job_folder(before.jobs[number]) / "post.json").exists()
    assert toy.go().reused == set(ran.jobs)


@pytest.mark.parametrize("damage", [empty, pytest.param(zeros, marks=pytest.mark.slow)])
def test_a_power_cut(toy: DagProject, damage: Callable[[Path], None]) -> None:
    """Manifests are on disk before anybody relies on them; what has none may be of any length."""
    nodes = toy.new_chains()
    before = toy.go()
    toy.kill_server()
    for job, names in {
        before.jobs[2]: ["x.npy", "record.json"],
        before.jobs[3]: ["x.npy"],
        before.jobs[4]: ["post.json"],
    }.items():
        folder = toy.job_folder(job)
        (folder / "manifest.json").unlink()
        for name in names:
            damage(folder / name)
    for job in before.jobs[2:4]:
        before_the_cut(toy.job_folder(job))
    cache = toy.folder / "workdirs" / ".cache"
    for file in cache.rglob("*"):
        if file.is_file():
            damage(file)
    for file in (toy.folder / "urd.db").rglob("*.urd"):
        damage(file)
    ran = toy.end(toy.start_command())
    assert ran.status == 0, ran.said
    toy.check(ran, expected(nodes))
    assert ran.fresh == [False, False, True, True, True]


def test_lists_of_builds_that_were_cut_short(toy: DagProject) -> None:
    """exax reads them before anything else, and its server ends if it can't."""
    nodes = toy.new_chains()
    before = toy.go()
    toy.stop_server()
    (lists,) = (toy.folder / "urd.db").rglob("*.urd")
    whole = lists.read_bytes()
    assert all(f'"{job}"' in whole.decode() for job in before.jobs)
    lists.write_bytes(whole + b'4\t2026-01-01T00:00:00.000000\tadd\t2026-01-01T00:00:00\ttester/x\t{}\t[["a"')
    ran = toy.end(toy.start_command())
    assert ran.status == 0, ran.said
    assert ran.reused == set(before.jobs)
    toy.check(ran, expected(nodes))
    assert lists.read_bytes() == whole


def test_every_file_of_every_job_is_cut_short(toy: DagProject) -> None:
    nodes = toy.new_chains()
    before = toy.go()
    toy.stop_server()
    for job in before.jobs:
        for file in toy.job_folder(job).iterdir():
            if file.is_file():
                os.truncate(file, file.stat().st_size // 2)
    ran = toy.end(toy.start_command())
    assert ran.status == 0, ran.said
    toy.check(ran, expected(nodes))
    assert ran.reused == set()
