"""Input files that a process has mapped for writing are found, and nobody is searched where no one writes."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from shortloop.store import inputs
from shortloop.store.inputs import mapped_for_writing


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One element for each search of all processes."""
    found: list[int] = []
    search = inputs._all_mapped

    def noted() -> Iterator[int]:
        found.append(1)
        return search()

    monkeypatch.setattr(inputs, "_all_mapped", noted)
    monkeypatch.setattr(inputs, "SCAN_EVERY", 0.0)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "a.npz"
    made.write_bytes(b"1" * 1000)
    if made.stat().st_dev not in inputs._local_disks():
        pytest.skip("this file system does not say who writes")
    return made


def test_files_that_nobody_writes_need_no_search(file: Path, searched: list[int]) -> None:
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ):
        assert mapped_for_writing({file.stat().st_ino: file}) == set()
    assert not searched
    os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))  # it is nobody's any more


def test_a_mapped_file_is_found_though_it_was_closed(file: Path, searched: list[int]) -> None:
    inode = file.stat().st_ino
    with file.open("r+b") as stream:
        held = mmap.mmap(stream.fileno(), 0)
    assert mapped_for_writing({inode: file}) == {inode}
    held.close()
    assert mapped_for_writing({inode: file}) == set()
    assert len(searched) == 1


def test_a_file_that_is_written_as_ever(file: Path, searched: list[int]) -> None:
    with file.open("ab"):
        assert mapped_for_writing({file.stat().st_ino: file}) == set()
    assert searched


def test_on_other_disks_all_processes_are_searched(
    file: Path, searched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_local_disks", set[int])
    assert mapped_for_writing({file.stat().st_ino: file}) == set()
    assert searched


def test_files_that_cannot_be_opened(file: Path, tmp_path: Path, searched: list[int]) -> None:
    for each in (tmp_path / "gone", tmp_path):
        assert mapped_for_writing({1: each, file.stat().st_ino: file}) == set()
    assert len(searched) == 2
