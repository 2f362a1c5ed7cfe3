"""exax's lists of builds, which keep its server from starting when lines of them were cut short."""

from __future__ import annotations

from pathlib import Path

import pytest
from accelerator.urd import DB

from shortloop.store.crash_repair import repair_lists

JOBS = '[["a", "main-1"]]'
LINES = [
    f'4\t2026-01-01T00:00:0{n}.000000\tadd\t2026-01-01T00:00:0{n}\ttester/built\t{{}}\t{JOBS}\t\t""\t"main-1"\n'
    for n in range(4)
]
LINES[2] = "4\t2026-01-01T00:00:02.000000\ttruncate\t2026-01-01T00:00:01\ttester/built\n"


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    file = tmp_path / "urd.db" / "tester" / "built.urd"
    file.parent.mkdir(parents=True)
    file.write_text("".join(LINES), encoding="utf-8")
    return file


def lists_of(file: Path) -> dict[str, dict[str, object]]:
    """As exax reads them."""
    return DB(str(file.parents[1]), verbose=False).db


def test_whole_lists_are_left_alone(lists: Path) -> None:
    before = lists.stat()
    assert repair_lists(lists.parents[2]) == []
    assert lists.stat() == before
    assert set(lists_of(lists)["tester/built"]) == {"2026-01-01T00:00:00", "2026-01-01T00:00:03"}


def test_lists_of_older_versions_are_left_alone(lists: Path) -> None:
    text = '3|2026-01-01T00:00:00.000000|add|2026-01-01T00:00:00|tester/built|{}|[["a", "main-1"]]||old\n'
    lists.write_text(text, encoding="utf-8")
    assert repair_lists(lists.parents[2]) == []
    assert lists.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("length", [1, 2, 30, 60, len(LINES[3]) - 1])
def test_a_last_line_that_was_cut_short_is_dropped(lists: Path, length: int) -> None:
    lists.write_text("".join(LINES[:3]) + LINES[3][:length], encoding="utf-8")
    assert repair_lists(lists.parents[2]) == [f"{lists}: 1 truncated lines are dropped"]
    assert lists.read_text(encoding="utf-8") == "".join(LINES[:3])
    assert set(lists_of(lists)["tester/built"]) == {"2026-01-01T00:00:00"}


@pytest.mark.parametrize("bad", [b"\0" * 80, b"\0" * 80 + b"\n", LINES[1].encode()[:40] + b"\xff\n", b"\n"])
def test_what_no_line_can_be_is_dropped_wherever_it_is(lists: Path, bad: bytes) -> None:
    lists.write_bytes(LINES[0].encode() + bad + LINES[3].encode())
    assert len(repair_lists(lists.parents[2])) == 1
    kept = lists_of(lists)["tester/built"]
    assert "2026-01-01T00:00:00" in kept
    assert repair_lists(lists.parents[2]) == []


def test_a_project_without_lists(tmp_path: Path) -> None:
    assert repair_lists(tmp_path) == []
