"""A long job that was cut off goes on where it was, and never trusts what a power cut may have lost."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from python_process import python

from shortloop.stages.content import SIZE
from shortloop.store.crash_repair import CHECKPOINTS
from shortloop.units.checkpoints import HEAD, Checkpoint, clear_checkpoint

SETUP: dict[str, Any] = {
    "method": "train",
    "hash": "12ab",
    "options": {"seed": 1},
    "jobs": {"features": "main-3"},
}


def job_folder(tmp_path: Path, number: int, **changes: Any) -> Path:
    folder = tmp_path / f"main-{number}"
    folder.mkdir()
    (folder / "setup.json").write_text(json.dumps({**SETUP, **changes}))
    return folder


def work(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    stop_after: int | None = None,
    n: int = 6,
    proven: bool = False,
) -> list[int]:
    """Run the units of a job in a folder; which ones it ran."""
    monkeypatch.chdir(folder)
    found = Checkpoint([1.0] * n)
    out = found.create_array("squares", (n,), np.int64)
    if proven:
        found.prove(lambda units: out[units].tobytes())
    found.start()
    ran: list[int] = []
    for (unit,) in found.batches():
        if len(ran) == stop_after:
            return ran  # the unit that was drawn is not done
        out[unit] = unit**2
        ran.append(unit)
    found.finish()
    return ran


@pytest.mark.parametrize("done", range(7))
def test_the_next_job_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int) -> None:
    folder = job_folder(tmp_path, 7)
    clear_checkpoint(folder)  # no file of a job is needed for that
    assert CHECKPOINTS not in os.listdir(tmp_path)
    assert work(folder, monkeypatch, stop_after=done) == list(range(done))
    if done < 6:
        folder = job_folder(tmp_path, 8)
        assert work(folder, monkeypatch) == list(range(done, 6))
    assert np.load(folder / "squares.npy").tolist() == [0, 1, 4, 9, 16, 25]
    clear_checkpoint(folder)
    assert not list((tmp_path / CHECKPOINTS).iterdir())
    assert np.load(folder / "squares.npy").tolist() == [0, 1, 4, 9, 16, 25]


@pytest.mark.parametrize(
    ("change", "n", "damage"),
    [
        ({"hash": "34cd"}, 6, None),
        ({"options": {"seed": 2}}, 6, None),
        ({"jobs": {"features": "main-4"}}, 6, None),
        ({"method": "apply"}, 6, None),
        ({}, 7, None),  # arrays of another shape
        ({}, 6, ("squares.npy", "cut short")),
        ({}, 6, ("boot", "another boot")),  # as after a power cut
    ],
)
def test_another_computation_begins_anew(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, Any],
    n: int,
    damage: tuple[str, str] | None,
) -> None:
    work(job_folder(tmp_path, 7), monkeypatch, stop_after=4)
    if damage:
        (file,) = tmp_path.glob(f"{CHECKPOINTS}/*/{damage[0]}")
        file.write_text(damage[1])
    assert work(job_folder(tmp_path, 8, **change), monkeypatch, n=n) == list(range(n))


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ({}, [4, 5]),
        ({1: 7, 2: 0}, [1, 2, 4, 5]),  # values that the disk did not keep
        ({"done": b""}, [*range(6)]),
        ({"proofs": b""}, [*range(6)]),
        ({"proofs": slice(-30, None)}, [3, 4, 5]),  # cut short
        ({"boot": b"another, where it was killed before it had looked"}, [4, 5]),
    ],
)
def test_after_a_power_cut_or_elsewhere_units_count_that_are_what_their_hash_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: dict[Any, Any], expected: list[int]
) -> None:
    work(job_folder(tmp_path, 7), monkeypatch, stop_after=4, proven=True)
    (folder,) = [each.parent for each in tmp_path.glob(f"{CHECKPOINTS}/*/boot")]
    (folder / "boot").write_text("another boot")
    for what, value in lost.items():
        if isinstance(what, int):
            np.load(folder / "squares.npy", mmap_mode="r+")[what] = value
            continue
        (file,) = folder.glob(f"{what}*")
        file.write_bytes(file.read_bytes()[: value.start] if isinstance(value, slice) else value)
    job = job_folder(tmp_path, 8)
    if "boot" in lost:
        monkeypatch.chdir(job)
        Checkpoint([1.0] * 6)
        job = job_folder(tmp_path, 9)
    assert work(job, monkeypatch, proven=True) == expected
    assert np.load(job / "squares.npy").tolist() == [0, 1, 4, 9, 16, 25]


def test_a_job_that_has_not_ended_yet_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job_folder(tmp_path, 7))
    running = Checkpoint([1.0] * 6)
    out = running.create_array("squares", (6,), np.int64)
    running.start()
    drawn = running.batches()
    out[next(drawn)] = -1
    folder = job_folder(tmp_path, 8)
    assert work(folder, monkeypatch) == list(range(6))
    assert np.load(folder / "squares.npy").tolist() == [0, 1, 4, 9, 16, 25]
    clear_checkpoint(folder)
    assert len(list((tmp_path / ".checkpoints").iterdir())) == 1


SLOW = """
import os, sys, time
import numpy as np
from shortloop.units.checkpoints import Checkpoint
found = Checkpoint([1.0] * 40)
out = found.create_array("squares", (40, 1000), np.int64)
found.start()
children = [os.fork() for _ in range(1)]
for (unit,) in found.batches():
    out[unit] = unit**2
    time.sleep(0.06)
    os.write(1, b"%d\\n" % unit)
if 0 in children:
    os._exit(0)
for child in children:
    os.waitpid(child, 0)
found.finish()
"""


def test_killed_processes_lose_only_what_they_were_at(tmp_path: Path) -> None:
    ran: list[int] = []
    for number in range(20):
        folder = job_folder(tmp_path, number)
        process = python(SLOW, cwd=folder)
        assert process.stdout is not None
        if number < 3:  # killed at some moment, parent and child alike
            first = process.stdout.readline()
            time.sleep(0.05 * number)
            os.killpg(process.pid, signal.SIGKILL)
            ran += [int(line) for line in (first + process.stdout.read()).split()]
            process.wait()
            continue
        ran += [int(line) for line in process.stdout.read().split()]
        assert process.wait() == 0
        break
    assert sorted(set(ran)) == list(range(40))
    assert len(ran) < 40 + 3 * 2  # each kill costs at most a unit of each process
    assert (np.load(folder / "squares.npy") == (np.arange(40) ** 2)[:, np.newaxis]).all()


def pages(folder: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int = 9, code: str = "") -> list[str]:
    """Run the units of a job that keeps files; the files of the job once all are done."""
    monkeypatch.chdir(folder)
    found = Checkpoint([1.0] * 4, code)
    found.start()
    for ran, (unit,) in enumerate(found.batches()):
        if ran == stop_after:
            return []
        found.keep_file(f"pages/{unit}.txt", f"{folder.name} {unit}".encode())
    return found.finish()


ALL_PAGES = [f"pages/{unit}.txt" for unit in range(4)]


@pytest.mark.parametrize("power_cut", [False, True])
@pytest.mark.parametrize("done", range(5))
def test_files_outlive_all_but_power_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int, power_cut: bool
) -> None:
    assert pages(job_folder(tmp_path, 7), monkeypatch, stop_after=done) == ([] if done < 4 else ALL_PAGES)
    if power_cut:
        (boot,) = tmp_path.glob(f"{CHECKPOINTS}/*/boot")
        boot.write_text("another boot")
        done = 0
    folder = job_folder(tmp_path, 8)
    assert pages(folder, monkeypatch) == ALL_PAGES
    left = [(folder / f"pages/{unit}.txt").read_text(encoding="utf-8") for unit in range(4)]
    assert left == [f"main-{7 if unit < done else 8} {unit}" for unit in range(4)]
    clear_checkpoint(folder)
    assert (folder / "pages/0.txt").is_file()
    assert not list((tmp_path / CHECKPOINTS).iterdir())


def test_files_are_proven_by_their_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    for number in (7, 8):
        monkeypatch.chdir(job_folder(tmp_path, number))
        found = Checkpoint([1.0] * 4)
        found.prove(lambda units: bytes(units))
        found.start()
        for (unit,) in found.batches():
            found.keep_file(f"pages/{unit}.txt", f"{unit}".encode())
            ran.append(unit)
            if ran == [0, 1, 2]:  # the last is not done
                break
        if number == 7:
            (folder,) = tmp_path.glob(f"{CHECKPOINTS}/*")
            (folder / "boot").write_text("another boot")
            (folder / "files/pages/1.txt").write_text("")
            del found
    assert ran == [0, 1, 2, 1, 2, 3]
    assert found.finish() == ALL_PAGES
    assert [Path(each).read_text() for each in ALL_PAGES] == ["0", "1", "2", "3"]


def test_two_units_give_no_file_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of them is the last is by chance. A unit that is done again gives the same again."""
    monkeypatch.chdir(job_folder(tmp_path, 7))
    found = Checkpoint([1.0] * 2)
    found.keep_file("page.txt", b"one")
    found.keep_file("page.txt", b"one")
    with pytest.raises(ValueError, match=r"two units give the file page\.txt"):
        found.keep_file("page.txt", b"two")


def test_a_file_that_was_cut_short_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job_folder(tmp_path, 7))
    found = Checkpoint([1.0])
    found.start()
    with monkeypatch.context() as inside:
        inside.setattr(Path, "replace", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            found.keep_file("pages/0.txt", b"half")
    found.keep_file("pages/0.txt", b"whole")
    with monkeypatch.context() as inside:
        inside.setattr(os, "getpid", lambda: 1)  # another process, that was killed
        inside.setattr(Path, "replace", lambda *args: None)
        found.keep_file("pages/0.txt", b"whole")
    assert list(found.batches()) == [[0]]
    assert found.finish() == ["pages/0.txt"]
    assert Path("pages/0.txt").read_bytes() == b"whole"


def test_other_code_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that exax does not know, as it is that of a helper which a stage imports by name."""
    for number, code in enumerate(("a", "b", "a")):
        pages(job_folder(tmp_path, number), monkeypatch, stop_after=2, code=code)
    assert len(list((tmp_path / ".checkpoints").iterdir())) == 2
    folder = job_folder(tmp_path, 9)
    pages(folder, monkeypatch, code="b")
    left = [(folder / f"pages/{unit}.txt").read_text(encoding="utf-8") for unit in range(4)]
    assert left == ["main-1 0", "main-1 1", "main-9 2", "main-9 3"]


def key(name: str) -> bytes:
    return name.encode().ljust(SIZE)


FIRST = key("first") + b"1"


def row_keeper(folder: Path, monkeypatch: pytest.MonkeyPatch, units: int) -> Checkpoint:
    """The checkpoint of a job in a folder, whose units give rows."""
    monkeypatch.chdir(folder)
    return Checkpoint([1.0] * units, units=None)


def two_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep two rows of a job that is cut off then; their file."""
    found = row_keeper(job_folder(tmp_path, 7), monkeypatch, 2)
    found.keep_rows({0: FIRST})
    found.keep_rows({1: key("second")})
    (file,) = tmp_path.glob(".checkpoints/*/rows.*")
    return file


def test_what_is_kept_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {1: key("three"), 0: key("none"), 2: key("seven") + os.urandom(100_000)}
    found = row_keeper(job_folder(tmp_path, 7), monkeypatch, 3)
    found.keep_rows({unit: row for unit, row in rows.items() if unit != 2})
    assert found.left() == [2]
    found.keep_rows({2: rows[2]})
    assert found.rows() == [rows[unit] for unit in range(3)]
    assert found.rows_before() == {}


def test_numbers_hold_for_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opens the stage again may find its units in another order."""
    row_keeper(job_folder(tmp_path, 7), monkeypatch, 2).keep_rows({1: key("three") + b"3"})
    again = row_keeper(job_folder(tmp_path, 8), monkeypatch, 2)
    assert again.left() == [0, 1]
    again.keep_rows({0: key("three") + b"3"})
    again.keep_rows({1: key("none") + b"0"})
    assert again.rows() == [key("three") + b"3", key("none") + b"0"]
    assert again.rows_before() == {key("three"): key("three") + b"3"}


def test_each_process_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = row_keeper(job_folder(tmp_path, 7), monkeypatch, 401)
    found.keep_rows({0: b"0"})
    forks = []
    for number in (1, 2):
        forks.append(os.fork())
        if not forks[-1]:
            for unit in range(number, 400, 2):
                found.keep_rows({unit: f"{unit}".encode() * 50})
            os._exit(0)
    for fork in forks:  # and for no child that another test has left
        assert os.waitpid(fork, 0)[1] == 0
    found.keep_rows({400: b"400"})
    assert found.rows() == [b"0", *(f"{unit}".encode() * 50 for unit in range(1, 400)), b"400"]
    assert len([*tmp_path.glob(".checkpoints/*/rows.*")]) == 3


def test_a_row_that_was_cut_off_or_altered_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = two_rows(tmp_path, monkeypatch)
    again = row_keeper(job_folder(tmp_path, 8), monkeypatch, 2)
    whole = file.read_bytes()
    altered = [
        whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        for at in range(HEAD.size + len(FIRST), len(whole))
    ]
    cut = [whole[:-length] for length in (1, 4, HEAD.size, HEAD.size + 2)]
    for other in (*altered, *cut):
        file.write_bytes(other)
        assert again.rows_before() == {key("first"): FIRST}
