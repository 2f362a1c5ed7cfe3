"""How far a run is: an honest time left, a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pytest
from jobs_project import ROOT, fresh_python

from shortloop.jobs import progress as room
from shortloop.jobs.progress import Progress

STAGES = ["import_epochs"] * 2 + ["train"] * 3 + ["group"]
HISTORY = {"import_epochs": 2.0, "train": 100.0, "group": 30.0}


def test_nothing_is_known_before_the_first_job() -> None:
    assert Progress(STAGES, HISTORY).seconds_left() == 0


def test_what_is_still_to_come_takes_what_it_took_before() -> None:
    progress = Progress(STAGES, HISTORY)
    progress.end("import_epochs", 4.0, "built")
    assert progress.seconds_left() == pytest.approx(4 + 3 * 100 + 30)


def test_what_this_run_has_seen_counts_more_than_history() -> None:
    progress = Progress(STAGES, HISTORY)
    for seconds in (4.0, 6.0):
        progress.end("import_epochs", seconds, "built")
    progress.end("train", 10.0, "built")
    assert progress.seconds_left() == pytest.approx(2 * 10 + 30)
    progress.end("train", 20.0, "built")
    assert progress.seconds_left() == pytest.approx(15 + 30)


def test_a_stage_without_history_counts_a_second() -> None:
    progress = Progress(STAGES, {})
    progress.end("import_epochs", 4.0, "built")
    assert progress.seconds_left() == pytest.approx(4 + 3 * 1 + 1)


def test_as_long_as_all_is_reused_nothing_takes_time() -> None:
    progress = Progress(STAGES, HISTORY)
    for stage in STAGES[:3]:
        progress.end(stage, 0.001, None)
        assert progress.seconds_left() < 0.1


def test_reused_jobs_say_nothing_of_those_that_are_built() -> None:
    """A participant more, at the end of the list: the others' jobs are there already."""
    progress = Progress(["train"] * 12, {})
    for _ in range(8):
        progress.end("train", 0.001, None)
    assert progress.seconds_left() < 0.1
    progress.end("train", 60.0, "built")
    assert progress.seconds_left() == pytest.approx(3 * 60)
    progress.end("train", 0.001, None)
    assert progress.seconds_left() < 0.1


def test_nothing_is_left_at_the_end() -> None:
    progress = Progress(STAGES, HISTORY)
    for stage in STAGES:
        progress.end(stage, 5.0, "built")
    assert progress.seconds_left() == 0
    progress.end("one that was not planned", 5.0, "built")
    assert progress.seconds_left() == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, ""), (1.4, "1 s left"), (99, "99 s left"), (100, "2 min left"), (3600, "60 min left")],
)
def test_the_time_left_in_words(seconds: float, text: str) -> None:
    progress = Progress(["train"] * 2, {})
    progress.end("train", seconds, "built")
    assert progress._time_left() == text


def test_off_a_terminal_built_jobs_are_plain_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(room, "_WIDTH", None)
    with Progress(STAGES[:3], HISTORY) as progress:
        for stage, line in zip(STAGES[:3], ("built [a]", None, "built B")):
            progress.begin(stage, "S01")
            progress.end(stage, 1.0, line)
    assert capsys.readouterr().out == "[1/3] built [a]\n[3/3] built B\n"


def test_a_pipe_is_no_terminal(tmp_path: Path) -> None:
    code = "from shortloop.jobs.progress import terminal_width; print(terminal_width())"
    assert fresh_python(code, tmp_path) == "None\n"


RUN = """
import time
from shortloop.jobs.progress import Progress, terminal_width
print("width", terminal_width())
with Progress(["train"] * 3 + ["group"], {"group": 50.0}) as progress:
    for number in range(4):
        stage = "train" if number < 3 else "group"
        progress.begin(stage, "[S01]")
        time.sleep(0.15)
        progress.end(stage, 70.0, f"built job [no{number}]")
        progress._bar.refresh()
print("the end")
"""


def on_a_terminal(code: str, columns: int) -> str:
    """Everything that a process writes to a terminal, as bytes come."""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        os.environ.update(PYTHONPATH=str(ROOT), TERM="xterm-256color")
        os.execv(sys.executable, [sys.executable, "-c", code])
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        said += part
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, said.decode()
    return said.decode()


@pytest.mark.parametrize("columns", [90, 140])
def test_on_a_terminal_a_bar_comes_and_goes(columns: int) -> None:
    said = on_a_terminal(RUN, columns)
    assert f"width {columns}" in said
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said)
    shown = ("train [S01]", "group [S01]", "━", "0/4", "1/4", "4/4", "3 min left", "2 min left", "50 s left")
    assert [expected for expected in shown if expected not in plain] == []
    # Lines of built jobs stay, above the bar.
    assert re.findall(r"built job \[no(\d)\]", plain) == ["0", "1", "2", "3"]
    # The bar itself is wiped: its line is erased, and the cursor is shown again.
    end = said[said.rindex("4/4") :]
    assert "\x1b[2K" in end
    assert "\x1b[?25h" in said[said.rindex("\x1b[?25l") :]
    assert "/4" not in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", end[end.index("\x1b[2K") :])
    assert plain.rstrip().endswith("the end")
