"""Lines of running jobs: overwritten ones, bursts, tracebacks, log records and warnings."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from python_process import ended

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


BELOW = "".join(f"\r outer 10%\n\r inner {inner}%\x1b[A" for inner in range(50)) + "\r outer 100%\n"
BURST = "".join(f"line {number}\n" for number in range(100_000))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (BELOW, ["fit |  outer 100%"]),  # a bar below another is left out
        (BURST, ["fit | line 0", "fit | … 99,700 lines left out: shortloop logs main-12"]),
    ],
    ids=["bars", "burst"],
)
def test_what_is_too_much_is_left_out(job: Printing, said: str, shown: list[str]) -> None:
    with LiveOutput(job.shown.append) as output:
        output.follow(job.folder, "fit")
        job.says(said)
        output.ended(job.folder)
    assert job.shown[:: room.LINES] == shown


@pytest.mark.parametrize("verbose", [False, True])
def test_minor_log_records_are_shown_if_asked_for(job: Printing, verbose: bool) -> None:
    minor, major = (f"2026-01-02 03:04:05.678 {level} fit: text\n" for level in ("INFO", "WARNING"))
    with LiveOutput(job.shown.append, verbose) as output:
        output.follow(job.folder, "fit")
        job.says(minor + major + "2026-01-02 03:04:05,678 INFO of a format of one's own\n")
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


STAMP = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}"


def said(folder: Path, code: str, where: str = "Path.cwd()") -> list[str]:
    begin = "import logging, os, warnings\nfrom pathlib import Path\n"
    begin += "import shortloop.store.process_notes as room\n"
    logs = f"room.keep_logs({where})\nlog = logging.getLogger('fit')\n"
    done = ended(["-c", begin + logs + code], folder)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_records_from_info_on_have_time_level_and_name(tmp_path: Path) -> None:
    lines = said(tmp_path, "log.debug('no'); log.info('a\\nb'); log.warning('c\\nd')")
    assert len(lines) == 4
    wanted = [rf"{STAMP} INFO fit: a", rf"{STAMP} INFO fit: b", rf"{STAMP} WARNING fit: c", "d"]
    assert all(re.fullmatch(each, line) for each, line in zip(wanted, lines, strict=True)), lines


@pytest.mark.parametrize(
    ("set_up", "lines"),
    [
        ("logging.basicConfig(format='%(message)s')", ["warning"]),
        ("logging.basicConfig(format='%(message)s', level='INFO')", ["info", "warning"]),
        (
            "logging.getLogger().setLevel('INFO')\nlogging.basicConfig(format='%(message)s')",
            ["info", "warning"],
        ),
        ("logging.getLogger().addHandler(logging.StreamHandler())", ["warning"]),
        ("log.propagate = False\nlog.addHandler(logging.NullHandler())", []),
    ],
)
def test_a_stage_that_sets_up_logging_has_what_it_asks(tmp_path: Path, set_up: str, lines: list[str]) -> None:
    assert said(tmp_path, f"{set_up}\nlog.info('info')\nlog.warning('warning')") == lines


WARN = "import warnings\nfor number in range(1000):\n    warnings.warn(f'odd {number}')\n"


def test_a_warning_is_shown_once_for_a_place(tmp_path: Path) -> None:
    (tmp_path / "OUTPUT").mkdir()
    (tmp_path / "once.py").write_text(WARN, encoding="utf-8")
    code = "import sys; sys.path.insert(0, '.')\nchild = os.fork()\nimport once\nif child: os.wait()"
    lines = said(tmp_path, f"import warnings\n{code}")
    assert len(lines) == 2, lines  # of two processes: with the line of the file
    assert said(tmp_path, code) == []  # and of a third of the job
    assert "<string>:8: UserWarning" in said(tmp_path, WARN, "None")[1]  # of another machine


def test_what_a_stage_does_with_warnings_works(tmp_path: Path) -> None:
    code = (
        "with warnings.catch_warnings(record=True) as found:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(3): warnings.warn('odd')\n"
        "assert len(found) == 3\n"
        "warnings.simplefilter('error')\n"
        "try: warnings.warn('odd')\n"
        "except UserWarning: log.warning('raised')\n"
    )
    (line,) = said(tmp_path, code)
    assert line.endswith("WARNING fit: raised")
