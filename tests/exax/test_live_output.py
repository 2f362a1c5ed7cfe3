"""Lines of running jobs: overwritten ones, bursts, log records and tracebacks."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from shortloop.exax import live_output as room
from shortloop.exax.live_output import LiveOutput, parts_of_output, shown_line


class Printing:
    """A job that prints, and what is shown of it."""

    def __init__(self, folder: Path, name: str = "main-12") -> None:
        self.folder = folder / name
        (self.folder / "OUTPUT").mkdir(parents=True)
        self.shown: list[str] = []

    def says(self, text: str | bytes, part: str = "0") -> None:
        with (self.folder / "OUTPUT" / part).open("ab") as stream:
            stream.write(text if isinstance(text, bytes) else text.encode())

    def shows(self, count: int) -> None:
        deadline = time.monotonic() + 30
        while len(self.shown) < count:
            assert time.monotonic() < deadline, self.shown
            time.sleep(0.01)


@pytest.fixture
def job(tmp_path: Path) -> Printing:
    return Printing(tmp_path)


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ("plain", "plain"),
        (b"caf\xe9", "caf\\xe9"),
        ("  漢字 \N{PARTY POPPER} é ", "  漢字 \N{PARTY POPPER} é"),
        ("\r 10%\r 99%\r100%   ", "100%"),
        ("windows\r", "windows"),
        ("\x1b[1;31mred\x1b[0m \x1b]0;title\x07end", "red end"),
        ("bell\x07 \x1b", "bell\\x07 \\x1b"),
        ("a\tb", "a       b"),
        ("\u202eturned", "\\u202eturned"),
        ("", ""),
    ],
)
def test_a_line_is_shown_as_a_terminal_would_leave_it(raw: str | bytes, line: str) -> None:
    assert shown_line(raw if isinstance(raw, bytes) else raw.encode()) == line


def test_parts_come_in_the_order_of_the_job(job: Printing) -> None:
    for part in ("synthesis", "10", "2", "0.units", "prepare", ".warned"):
        job.says("x", part)
    assert [file.name for file in parts_of_output(job.folder)] == ["prepare", "2", "10", "synthesis"]
    assert parts_of_output(job.folder.with_name("main-99")) == []


def test_lines_of_several_jobs_come_while_they_run(tmp_path: Path) -> None:
    one, other = Printing(tmp_path), Printing(tmp_path, "main-13")
    with LiveOutput(one.shown.append) as output:
        for each, name in ((one, "fit A"), (other, "fit B")):
            output.follow(each.folder, name)
            each.says("first\nbegun ")
        one.shows(2)
        assert sorted(one.shown) == ["fit A | first", "fit B | first"]
        one.says("é\n")
        one.shows(3)
        output.ended(other.folder)
        assert one.shown[2:] == ["fit A | begun é", "fit B | begun"]
        output.ended(one.folder)
    assert len(one.shown) == 4


def test_a_bar_is_shown_now_and_then_and_at_its_end(job: Printing) -> None:
    began = time.monotonic()
    with LiveOutput(job.shown.append) as output:
        output.follow(job.folder, "fit")
        for percent in range(101):
            job.says(f"\r{percent:3}%|{'█' * (percent // 10)}")
            time.sleep(0.012)
        job.says("\nafter\n")
        output.ended(job.folder)
    seconds = time.monotonic() - began
    assert job.shown[-2:] == ["fit | 100%|██████████", "fit | after"]
    assert 3 <= len(job.shown) <= 4 + seconds / room.STATE_EVERY
    assert len({*job.shown}) == len(job.shown)


def test_a_bar_below_another_is_left_out(job: Printing) -> None:
    with LiveOutput(job.shown.append) as output:
        output.follow(job.folder, "fit")
        for inner in range(50):
            job.says(f"\r outer 10%\n\r inner {inner}%\x1b[A")
        job.says("\r outer 100%\n")
        output.ended(job.folder)
    assert job.shown == ["fit |  outer 100%"]


def test_a_burst_is_counted_and_the_terminal_lives(job: Printing) -> None:
    with LiveOutput(job.shown.append) as output:
        output.follow(job.folder, "fit")
        job.says("".join(f"line {number}\n" for number in range(100_000)))
        output.ended(job.folder)
    assert job.shown[:: room.LINES] == [
        "fit | line 0",
        "fit | … 99,700 lines left out: shortloop logs main-12",
    ]


def test_after_a_burst_lines_are_shown_again(job: Printing, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    output = LiveOutput(job.shown.append, most=2)
    job.says("1\n2\n3\n")
    tail = room._Job(job.folder, "fit | ")
    output._read(tail)
    clock[0] += 1
    job.says("4\n")
    output._read(tail)
    left = "fit | … 1 line left out: shortloop logs main-12"
    assert job.shown == ["fit | 1", "fit | 2", left, "fit | 4"]


@pytest.mark.parametrize("verbose", [False, True])
def test_minor_log_records_are_shown_if_asked_for(job: Printing, verbose: bool) -> None:
    minor, major = (f"2026-01-02 03:04:05.678 {level} fit: text\n" for level in ("INFO", "WARNING"))
    own = "2026-01-02 03:04:05,678 INFO of a format of one's own\n"
    with LiveOutput(job.shown.append, verbose) as output:
        output.follow(job.folder, "fit")
        job.says(minor + major + own)
        output.ended(job.folder)
    assert len(job.shown) == 2 + verbose


@pytest.mark.parametrize("end", ["\n", ""])  # as of `print(…, end="")`
@pytest.mark.parametrize("failed", [False, True])
def test_the_traceback_of_a_job_that_fails_is_left_to_the_run(job: Printing, failed: bool, end: str) -> None:
    traceback = 'Traceback (most recent call last):\n  File "x"\nValueError: as asked\n'
    with LiveOutput(job.shown.append) as output:
        output.follow(job.folder, "fit")
        job.says(f"before{end}{traceback}")
        time.sleep(2 * room.LOOK_EVERY)
        output.ended(job.folder, failed)
    assert [line.removeprefix("fit | ") for line in job.shown] == [
        "before",
        *([] if failed else traceback.splitlines()),
    ]


def test_a_terminal_that_is_gone_ends_nothing(job: Printing) -> None:
    def show(line: str) -> None:
        raise BrokenPipeError

    with LiveOutput(show) as output:
        output.follow(job.folder, "fit")
        job.says("x\n")
        time.sleep(2 * room.LOOK_EVERY)
        output.ended(job.folder)


def test_a_run_that_builds_nothing_starts_no_thread(job: Printing) -> None:
    with LiveOutput(job.shown.append) as output:
        pass
    assert output._thread is None
    assert os.listdir(job.folder / "OUTPUT") == []
