"""Rows that processes append are found whole or not at all; by number only where the number was given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shortloop.stages.content import SIZE
from shortloop.units.checkpoints import HEAD, RowFiles


def key(name: str) -> bytes:
    return name.encode().ljust(SIZE)


FIRST = key("first") + b"1"


def test_what_is_kept_is_read(tmp_path: Path) -> None:
    rows = {3: key("three"), 0: key("none"), 7: key("seven") + os.urandom(100_000)}
    files = RowFiles(tmp_path)
    files.keep({unit: row for unit, row in rows.items() if unit != 7})
    files.keep({7: rows[7]})
    assert files.read() == rows
    assert files.read_others() == {}
    assert RowFiles(tmp_path / "none").read() == {}


def test_numbers_hold_for_nobody_else(tmp_path: Path) -> None:
    """Whoever opens the stage again may find its units in another order."""
    RowFiles(tmp_path).keep({3: key("three") + b"3"})
    again = RowFiles(tmp_path)
    again.keep({0: key("three") + b"3"})
    again.keep({3: key("none") + b"0"})
    assert again.read() == {0: key("three") + b"3", 3: key("none") + b"0"}
    assert again.read_others() == {key("three"): key("three") + b"3"}


def test_each_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    files = RowFiles(tmp_path)
    files.keep({0: b"0"})
    for number in (1, 2):
        child = os.fork()
        if not child:
            for unit in range(number, 400, 2):
                files.keep({unit: f"{unit}".encode() * 50})
            os._exit(0)
    for _ in range(2):
        assert os.wait()[1] == 0
    files.keep({400: b"400"})
    assert files.read() == {**{unit: f"{unit}".encode() * 50 for unit in range(1, 400)}, 0: b"0", 400: b"400"}
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("cut", [1, 4, HEAD.size, HEAD.size + 2])
def test_a_row_that_was_cut_off_is_none(tmp_path: Path, cut: int) -> None:
    files = RowFiles(tmp_path)
    files.keep({1: FIRST})
    files.keep({2: key("second")})
    (file,) = tmp_path.iterdir()
    os.truncate(file, file.stat().st_size - cut)
    assert RowFiles(tmp_path).read_others() == {key("first"): FIRST}


def test_a_row_that_was_altered_is_none(tmp_path: Path) -> None:
    files = RowFiles(tmp_path)
    files.keep({1: FIRST})
    files.keep({2: key("second")})
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for at in range(HEAD.size + len(FIRST), len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert RowFiles(tmp_path).read_others() == {key("first"): FIRST}, at


def test_rows_of_a_batch_are_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    write = os.write

    def written(file: int, data: bytes) -> int:
        sizes.append(len(data))
        return write(file, data)

    monkeypatch.setattr(os, "write", written)
    RowFiles(tmp_path).keep({unit: key(f"{unit}") for unit in range(100)})
    assert sizes == [100 * (HEAD.size + SIZE)]
    assert len(RowFiles(tmp_path).read_others()) == 100
