"""How far a run is: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from jobs_project import fresh_python
from on_a_terminal import on_a_terminal
from rich.table import Table

from shortloop.plan.pipeline import BUILD, Built
from shortloop.run import progress as room
from shortloop.run.progress import Progress

TRAIN = Built("", "train", "S01", plan=BUILD)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, ""),
        (1.4, "1.4 s left"),
        (99, "99 s left"),
        (100, "2 min left"),
        (3600, "60 min left"),
        (9000, "2.5 h left"),
    ],
)
def test_the_time_left_in_words(seconds: float, text: str) -> None:
    assert Progress([TRAIN], {"train": seconds}).time_left() == text


def test_off_a_terminal_built_jobs_are_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(room, "_TERMINAL", None)
    long = ("because [a] " * 50).strip()
    made = Built("main-7", "train", "S01", fresh=True, seconds=61.25)
    with Progress([TRAIN] * 3, {}) as progress:
        for built in (made, replace(made, fresh=False), replace(made, reason=long)):
            progress.started(("train", built.partition, ""))
            progress.ended(built)
    assert capsys.readouterr().out.splitlines() == [
        "[1/3] built train               S01          main-7       61.2 s",
        f"[3/3] built train               S01          main-7       61.2 s  {long}",
    ]


def test_no_minute_has_a_sixtieth_second() -> None:
    with Progress([TRAIN], {}) as progress:
        progress._started -= 59.7
        line = progress._line()
    assert isinstance(line, Table)
    assert [*line.columns[4].cells] == ["0:00:59"]


def test_lines_say_which_of_several_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(room, "_TERMINAL", None)
    made = Built("main-7", "panel_fit", "003", fresh=True, seconds=1.25, variant="robust invest")
    with Progress([made] * 2, {}) as progress:
        for built in (made, replace(made, reason="new")):
            progress.started((built.stage, built.partition, built.variant))
            assert progress._what() == "panel_fit 003 robust invest"
            progress.ended(built)
    assert capsys.readouterr().out.splitlines() == [
        "[1/2] built panel_fit           003          main-7        1.2 s  robust invest",
        "[2/2] built panel_fit           003          main-7        1.2 s  robust invest: new",
    ]


def test_a_pipe_is_no_terminal(tmp_path: Path) -> None:
    code = "from shortloop.run.progress import terminal_width; print(terminal_width())"
    assert fresh_python(code, tmp_path) == "None\n"


RUN = """
import tempfile, time
from pathlib import Path
from shortloop.plan.pipeline import BUILD, Built
from shortloop.run.progress import Progress, terminal_width
from shortloop.units.queue import PROGRESS
print("width", terminal_width())
jobs = [Built("", "train", f"[S{number}]", plan=BUILD, seconds=70.0) for number in range(3)]
jobs.append(Built("", "group", None, plan=BUILD, seconds=50.0))
folder = Path(tempfile.mkdtemp())
(folder / PROGRESS).write_text("0.25 1 1")
with Progress(jobs, {}) as progress:
    for number, job in enumerate(jobs):
        progress.started((job.stage, job.partition, ""), lambda: folder)
        time.sleep(0.15)
        progress._bar.refresh()
        reason = f"because [no{number}]" + " of this" * 30
        progress.ended(Built("main-1", job.stage, job.partition, fresh=True, reason=reason))
    progress._bar.refresh()
print("the end")
"""


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_on_a_terminal_a_bar_comes_and_goes(columns: int) -> None:
    said = on_a_terminal(RUN, columns)
    assert f"width {columns}" in said
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)
    shown = ["train [S0]", "group", "0/4", "1/4", "4/4", "3 min left", "50 s left", "25 %"]
    shown += ["━"] if columns >= 80 else []  # where it is narrow, numbers say more
    assert [expected for expected in shown if expected not in plain] == []
    # Lines of built jobs stay, above the bar, and none is longer than the terminal is wide.
    lines = re.findall(r"built (?:train|group) .* main-1 +0\.0 s\r\n    because \[no(\d)\]", plain)
    assert lines == ["0", "1", "2", "3"]
    assert len(re.findall(r"\bthis\b", plain)) == 4 * 30  # whole reasons, in lines below
    assert max(len(line) for line in re.split(r"[\r\n]+", plain)) <= columns
    # The bar itself is wiped: its line is erased, and the cursor is shown again.
    end = said[said.rindex("4/4") :]
    assert "\x1b[2K" in end
    assert "\x1b[?25h" in said[said.rindex("\x1b[?25l") :]
    assert "/4" not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", end[end.index("\x1b[2K") :])
    assert plain.rstrip().endswith("the end")


NOTHING = """
import sys
from shortloop.plan.pipeline import REUSE, Built
from shortloop.run.progress import Progress
with Progress([Built("", "train", "A", plan=REUSE)] * 3, {"train": 70.0}) as progress:
    for _ in range(3):
        progress.started(("train", "A", ""))
        progress.ended(Built("main-1", "train", "A", plan=REUSE))
print("rich" in sys.modules)
"""


def test_a_run_that_builds_nothing_draws_nothing() -> None:
    assert on_a_terminal(NOTHING, 80) == "False\r\n"


WIDER = """
import fcntl, struct, termios
from shortloop.plan.pipeline import BUILD, Built
from shortloop.run.progress import Progress
with Progress([Built("", "train", "A", plan=BUILD)], {}) as progress:
    progress.started(("train", "A", ""))
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 50, 0, 0))
    progress.ended(Built("main-1", "x" * 70, "A", fresh=True))
"""


def test_lines_fit_a_window_that_was_made_narrower() -> None:
    said = on_a_terminal(WIDER, 80)
    (line,) = re.findall(r"built x+….*", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said))
    assert re.fullmatch(r"built x{6}…x{5} A {11}main-1 {8}0\.0 s", line.rstrip()), line


def test_reading_is_worth_a_word_after_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress([], {})
    for _ in range(2):  # files of one kind, then of another
        for quarters in range(101):
            progress.reading(36, 90_400_000 * quarters, 9_040_000_000, quarters / 4)
    lines = [
        "reading 36 files, 0.7 of 9.0 GB, 23 s left",
        "reading 36 files, 4.3 of 9.0 GB, 13 s left",
        "reading 36 files, 8.0 of 9.0 GB, 3.0 s left",
    ]
    assert capsys.readouterr().out.splitlines() == lines * 2


def test_reading_megabytes(capsys: pytest.CaptureFixture[str]) -> None:
    Progress([], {}).reading(2, 100_000_000, 300_000_000, 2.0)
    Progress([], {}).reading(2, 0, 300_000_000, 60.0)  # a disk that has not answered yet
    assert capsys.readouterr().out == "reading 2 files, 100.0 of 300.0 MB, 4.0 s left\n"
