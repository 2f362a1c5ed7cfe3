"""How far a run is: a bar or plain lines, and the time left."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jobs_project import fresh_python
from on_a_terminal import on_a_terminal

from shortloop.exax.cost import JobProgress
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.run.progress import Estimate, Name

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


@pytest.mark.parametrize("columns", [60, 80])
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


def test_a_run_that_builds_nothing_draws_nothing(tmp_path: Path) -> None:
    assert on_a_terminal(NOTHING, 80) == "False\r\n"
    code = "from shortloop.run.progress import terminal_width; print(terminal_width())"
    assert fresh_python(code, tmp_path) == "None\n"  # a pipe is no terminal


HISTORY = {"features": 4.0, "train": 100.0, "group": 30.0}


class Run:
    """A run, and the clock on its wall."""

    def __init__(self, *jobs: Built, history: dict[str, float] | None = None) -> None:
        self.now = 0.0
        self.jobs = list(jobs)
        self.fraction: float | None = None
        self.estimate = Estimate(
            jobs, HISTORY if history is None else history, lambda folder: self.progress(), lambda: self.now
        )

    def begin(self) -> Name:
        job = self.jobs.pop(0)
        name = (job.stage, job.partition, "")
        self.estimate.begin(name, lambda: Path(job.stage))
        return name

    def job(self, seconds: float, built: bool = True) -> None:
        name = self.begin()
        self.now += seconds
        self.estimate.end(name, built)

    def progress(self) -> JobProgress | None:
        return None if self.fraction is None else JobProgress(self.fraction, 0, 0)

    def left(self, fraction: float | None = None) -> float:
        self.fraction = fraction
        seconds, all_known = self.estimate.left()
        assert all_known
        return seconds

    def share(self, fraction: float | None = None) -> float | None:
        self.fraction = fraction
        return self.estimate.of_running()


def planned(stage: str, plan: str = BUILD, partition: str | None = None, seconds: float = 0.0) -> Built:
    return Built("", stage, partition, plan=plan, seconds=seconds)


def test_before_the_first_job_all_take_what_they_took_before() -> None:
    """What is there takes no time; a job takes what the one in its place took."""
    assert Run(*[planned("features")] * 2, *[planned("train")] * 3, planned("group")).left() == 338
    run = Run(planned("features", REUSE), planned("train", REUSE), planned("train"))
    assert run.left() == 100
    run.job(0.001, built=False)
    assert run.left() == 100
    assert Run(planned("train", seconds=7), planned("train", seconds=500), planned("train")).left() == 607


def test_what_may_be_there_counts_half_until_this_run_tells_more() -> None:
    run = Run(*[planned("train", PERHAPS)] * 5)
    assert run.left() == 250
    for seconds, built, left in (
        (0.001, False, 4 * 100 / 3),
        (0.001, False, 75),
        (100, True, 2 * 100 * 2 / 5),
    ):
        run.job(seconds, built)
        assert run.left() == pytest.approx(left)


def test_this_run_may_be_slower_than_history() -> None:
    run = Run(*[planned("train", seconds=seconds) for seconds in (10.0, 40.0, 100.0)], planned("group"))
    run.job(20)
    assert run.left() == 2 * 40 + 2 * 100 + 30
    run.job(30)
    assert run.left() == 100 + 30


def test_a_stage_without_history_goes_on_as_it_went() -> None:
    """Stages of which nothing is known are said to be missing; units are enough without history."""
    run = Run(*[planned("train")] * 3, planned("report"), history={})
    assert run.estimate.left() == (0, False)
    for seconds, left in ((6, (12, False)), (2, (4, False)), (4, (0, False)), (1, (0, True))):
        run.job(seconds)
        assert run.estimate.left() == left
    run = Run(planned("train"), history={})
    run.begin()
    run.now, run.fraction = 10, 0.0
    assert run.estimate.left() == (0, False)
    assert run.share(0.0) is None
    assert run.left(0.25) == 30
    assert run.share(0.25) == pytest.approx(0.25)


def test_the_job_that_runs_counts_with_what_is_left_of_it() -> None:
    run = Run(planned("train"), planned("group"))
    run.begin()
    assert run.left() == 130
    run.now = 40
    assert run.left() == 60 + 30
    assert run.estimate.of_running() == pytest.approx(0.4)
    run.now = 1000  # longer than ever: no one knows
    assert run.left() == 30
    assert run.estimate.of_running() == 0.95


def test_units_tell_more_than_history() -> None:
    run = Run(planned("train"), planned("group"))
    run.begin()
    run.now = 200
    assert run.left(0.5) == 200 + 30
    assert run.share(0.5) == pytest.approx(0.5)
    assert run.left(0.1) == pytest.approx(1800 / 2 + 30)  # the first units are not trusted yet
    assert run.left(1.0) == 30
    assert run.share(1.0) == 0.99
    assert run.left(0.0) == 30  # none is done: history, and that is over


def test_a_pipeline_may_do_what_it_did_not_plan() -> None:
    run = Run(planned("features", partition="A"), planned("features", partition="B"), planned("train"))
    run.estimate.begin(("features", "B", ""))  # another order
    run.now = 8
    run.estimate.end(("features", "B", ""), True)
    assert (run.estimate.done, run.estimate.total) == (1, 3)
    assert run.left() == 8 + 100
    run.estimate.begin(("surprise", None, ""))
    assert run.estimate.total == 4
    run.estimate.end(("surprise", None, ""), True)
    assert (run.estimate.done, run.estimate.total) == (2, 4)


def test_jobs_side_by_side_take_as_long_as_they_have_so_far() -> None:
    run = Run(*[planned("train")] * 6)
    first, second = run.begin(), ("train", "other", "")
    run.estimate.begin(second)
    run.now = 50
    assert run.left() == (50 + 50 + 5 * 100) / 2
    run.now = 100
    run.estimate.end(first, True)
    run.estimate.end(second, True)
    assert run.left() == 5 * 100 / 2
    run.now = 500  # nothing ran meanwhile
    assert run.left() == 5 * 100 / 2
    run.begin()
    assert run.left() == 5 * 100 / 2
    assert run.share() == 0
    run = Run(planned("train"), planned("features"))
    for _ in range(2):
        run.begin()
    assert run.left() == 104  # for the longest of them
    run.now = 2
    assert run.left() == 98
