"""Stages in cells of a notebook, in a real kernel: their jobs are jobs like others, and found again."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from kernel import Kernel
from live_project import EmptyProject, in_short_folder, processes, script, stages, wait_for

PANEL = stages("""\
# panel
@stage
def panel(file: File):
    import pandas as pd

    return {"rows": pd.read_csv(file.path, dtype={"firm": str})}
""")
SCRIPT = script('return run.build("panel", file=run.file("panel.csv"))')
BEGIN = """\
import os
import time
from pathlib import Path

import numpy as np
import shortloop
from shortloop import File, Job
from shortloop.notebook import Session

ax = Session()
"""
HELPERS = """\
DEGREE = 1

def line(rows):
    return np.polyfit(rows["year"], rows["x"], DEGREE)[0]

def firms(panel: Job):
    return panel["rows"].groupby("firm")
"""
SLOPES = """\
@ax.stage(units=firms)
def slopes(rows, unit: str, scale: float = 1.0):
    with Path(os.environ["COMPUTED"]).open("a") as stream:
        stream.write(unit + "\\n")
    while Path(os.environ["COMPUTED"] + ".hold-" + unit).exists():
        time.sleep(0.01)
    return {"slope": scale * line(rows)}
"""
READY = BEGIN + HELPERS + SLOPES
BUILD = """\
panel = ax.build("panel", file=ax.file("panel.csv"))
job = ax.build(slopes, panel=panel)
print(job, job["slope"].round(3).tolist())
"""
OWN = """\
from dataclasses import dataclass

@dataclass
class Own:
    x: int

@ax.stage
def bad(n: int):
    return {"own": Own(n)}

ax.build(bad, n=3)
"""


class NotebookProject(EmptyProject):
    """A panel, read by a stage in a file, and no server."""

    sources: ClassVar = {
        **PANEL,
        "methods/own.py": "def own(x):\n    return x\n",
        "build_scripts/build_panel.py": SCRIPT,
    }

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.write_panel(a=2, b=3, c=4)

    def write_panel(self, **slopes: float) -> None:
        lines = [f"{firm},{year},{slope * year}" for firm, slope in slopes.items() for year in range(3)]
        self.write("panel.csv", "\n".join(["firm,year,x", *lines, ""]))

    def kernel(self, below: str = "") -> Kernel:
        return Kernel(self.folder / below, self.environment())

    def processes(self) -> list[str]:
        """Processes of servers and sessions of this project."""
        found = [each.command for each in processes(self.folder).values()]
        return [each for each in found if re.search(r"ax server|notebook\.driver|runner\.py", each)]


@pytest.fixture
def project() -> Iterator[NotebookProject]:
    with in_short_folder(NotebookProject) as made:
        yield made
        wait_for(lambda: not made.processes())


@pytest.fixture(scope="module")
def shared() -> Iterator[NotebookProject]:
    with in_short_folder(NotebookProject) as made:
        yield made


@pytest.fixture(scope="module")
def kernel(shared: NotebookProject) -> Iterator[Kernel]:
    """A notebook of several tests."""
    with shared.kernel() as kernel:
        kernel.run(READY)
        yield kernel


@pytest.mark.slow
def test_jobs_of_cells_are_jobs_like_others(project: NotebookProject) -> None:
    (project.folder / "notebooks").mkdir()
    with project.kernel("notebooks") as kernel:
        kernel.run(BEGIN)
        kernel.run(HELPERS)
        kernel.run(SLOPES)
        said = kernel.run(BUILD)
        assert re.search(r"\[1/1\] built panel +main-\d+ .* new\n\[1/1\] built slopes +main-\d+ .* new", said)
        assert said.endswith("main-1 [2.0, 3.0, 4.0]\n")
        assert project.computed() == ["a", "b", "c"]
        # As it was, with other comments, run in one cell.
        again = SLOPES.replace("    return", "    # what it is\n    return")
        assert kernel.run(HELPERS + again + BUILD).startswith("reused panel main-0\nreused slopes main-1\n")
        assert kernel.run("shortloop.load(str(job)).to_frame().slope.round(3).tolist()") == "[2.0, 3.0, 4.0]"
        # A row of one firm, an option, a constant, a helper.
        project.write_panel(a=2, b=5, c=4)
        assert "file panel.csv was changed" in kernel.run(BUILD)
        assert project.computed() == ["b"]
        scaled = BUILD.replace("panel=panel)", "panel=panel, scale=2.0)")
        assert "option scale: 1.0 → 2.0" in kernel.run(scaled)
        assert project.computed() == ["a", "b", "c"]
        assert "code of a_slopes.DEGREE" in kernel.run("DEGREE = 2\n" + BUILD)
        kernel.run("DEGREE = 1\n" + BUILD)
        project.computed()
        assert "code of a_slopes.line" in kernel.run(HELPERS.replace("[0]", "[-1]") + BUILD)
        assert project.computed() == ["a", "b", "c"]
        kernel.run(HELPERS + BUILD)
        assert project.computed() == []
        job = kernel.run("print(job)").strip()
        for command in (("verify",), ("show", job), ("why", "slopes"), ("jobs",), ("runs",)):
            done = project.shortloop(*command)
            assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stdout + done.stderr
        assert "for             notebook" in project.shortloop("show", job).stdout
        # A build script uses its jobs, and knows nothing of its stages.
        assert "0 jobs built, 1 reused" in project.works("run", "panel")
        assert kernel.run(BUILD).startswith("reused panel")


@pytest.mark.slow
def test_a_new_kernel_finds_all_jobs(project: NotebookProject) -> None:
    for built in (True, False):
        with project.kernel() as kernel:
            said = kernel.run(READY + BUILD)
        assert ("built" in said) is built
        wait_for(lambda: not project.processes())
    # What was written down of it may go.
    for file in (project.folder / "workdirs/.cache/cells").rglob("*"):
        if file.is_file():
            file.unlink()
    assert "0 jobs built, 1 reused" in project.works("run", "panel")
    with project.kernel() as kernel:
        assert "built" not in kernel.run(READY + BUILD)
    listed = subprocess.run(
        ["git", "-C", str(project.folder), "status", "--short"], capture_output=True, text=True, check=False
    )
    assert "cells" not in listed.stdout


@pytest.mark.slow
def test_two_notebooks_with_functions_of_one_name(project: NotebookProject) -> None:
    with project.kernel() as one, project.kernel() as other:
        one.run(BEGIN.replace("Session()", "Session('one')") + HELPERS + SLOPES)
        other.run(
            BEGIN.replace("Session()", "Session('other')") + HELPERS + SLOPES.replace("scale *", "-scale *")
        )
        assert one.run(BUILD).endswith("main-1 [2.0, 3.0, 4.0]\n")
        assert other.run(BUILD).endswith("main-2 [-2.0, -3.0, -4.0]\n")
        for kernel, last in ((one, "main-1 [2.0, 3.0, 4.0]\n"), (other, "main-2 [-2.0, -3.0, -4.0]\n")) * 2:
            said = kernel.run(BUILD)
            assert "built" not in said
            assert said.endswith(last)
        # Who builds after the other has its own functions.
        assert one.run("DEGREE = 2\n" + BUILD).count("built") == 1
        assert other.run("DEGREE = 2\n" + BUILD).count("built") == 1
        said = project.shortloop("why", "slopes").stdout
        for number, name in enumerate(("one", "other")):
            assert f"main-{3 + number}: slopes\n  built for notebook {name}: code of a_slopes.DEGREE" in said
            assert f"compared with main-{1 + number}, in its place before" in said


def test_an_own_module_that_was_edited_builds_again(shared: NotebookProject, kernel: Kernel) -> None:
    kernel.run("from methods.own import own\n@ax.stage\ndef uses(x: int):\n    return {'y': own(x)}")
    assert kernel.run("ax.build(uses, x=3)['y']").endswith("3")
    shared.write("methods/own.py", "def own(x):\n    return -x\n")
    assert kernel.run("ax.build(uses, x=3)['y']").endswith("-3")
    kernel.run("%load_ext autoreload\n%autoreload 2")
    assert kernel.run("ax.build(uses, x=3)['y']").startswith("reused")
    # A stage that cannot be imported any more is in nobody's way.
    shared.write("methods/own.py", "")
    kernel.run("@ax.stage\ndef free(x: int):\n    return {'y': x}\nax.build(free, x=1)")


def test_errors_say_the_lines_of_cells(kernel: Kernel) -> None:
    kernel.run("def deep(x):\n\n    return 1 / x")
    error = kernel.fails(
        "@ax.stage\ndef fails(x: int):\n    # first\n    return {'y': deep(x)}\nax.build(fails, x=0)"
    )
    (number,) = re.findall(r"Cell In\[(\d+)\], line 4, in fails", error)
    assert f"Cell In[{int(number) - 1}], line 3, in deep" in error
    assert "ZeroDivisionError: division by zero" in error
    assert "method.py" not in error
    error = kernel.fails(
        "values = np.ones(3)\n@ax.stage\ndef fails(x: int):\n  return {'y': values}\nax.build(fails, x=0)"
    )
    assert "values, a numpy.ndarray" in error
    assert "give it as an input" in error
    assert "module.py" not in error
    for code, said in (
        ("import pandas as pd\nax.build(fails, x=pd.DataFrame())", "found:        pandas"),
        ("ax.build(fails, x=[1, values])", "found:        numpy.ndarray"),
        ("ax.build('nothing')", "no such method"),
        (OWN, "define Own at the top of a module of the project"),
        (
            "@ax.stage\ndef panel(x: int):\n    return {}\nax.build(panel, x=1)",
            "the project has a stage of this name in a file",
        ),
        ("@ax.stage\ndef fails(x: int):\n    return {'y': x}\nax.build(fails, z=1)", "wrong arguments"),
    ):
        assert said in kernel.fails(code)
    assert kernel.run("ax.build(fails, x=1)['y']").endswith("1")
    long = "@ax.stage\ndef long(x: int):\n    raise ValueError('x' * 300_000)\nax.build(long, x=1)"
    assert "x" * 300_000 in kernel.fails(long)


def test_an_interrupt_ends_the_job_and_keeps_what_is_done(project: NotebookProject) -> None:
    firms = {f"k{number}": number for number in range(20)}
    project.write_panel(**firms)
    hold = project.folder / ".computed.hold-k6"
    hold.touch()
    with project.kernel() as kernel:
        kernel.run(READY)
        sent = kernel.start(BUILD)
        noted = project.folder / ".computed"
        wait_for(lambda: noted.exists() and len(noted.read_text().split()) >= 19)
        kernel.manager.interrupt_kernel()
        _, error = kernel.finish(sent)
        assert "KeyboardInterrupt" in error
        assert "slopes" not in project.ax("status").stdout
        before = project.computed()
        hold.unlink()
        assert kernel.run(BUILD).endswith(f"{[float(firms[name]) for name in sorted(firms)]}\n")
        again = project.computed()
        assert "k6" in again
        assert len(again) <= 2  # what each slice had begun
        assert {*before, *again} == {*firms}


@pytest.mark.slow
def test_an_interrupt_ends_waiting_for_another_run(project: NotebookProject) -> None:
    with project.kernel() as kernel:
        kernel.run(READY + BUILD)
        with (project.folder / "workdirs/.cache/jobs/run.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "built" not in kernel.run(BUILD)  # what is there is found all the same
            sent = kernel.start("ax.build(slopes, panel=panel, scale=5.0)")
            kernel.wait_for_text(sent, "waiting for another run to end")
            kernel.manager.interrupt_kernel()
            assert "KeyboardInterrupt" in kernel.finish(sent)[1]
        for _ in range(3):  # of no effect on a notebook that does nothing
            kernel.manager.interrupt_kernel()
        assert "built slopes" in kernel.run("ax.build(slopes, panel=panel, scale=5.0)")


@pytest.mark.parametrize("during", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_kernel_that_is_killed_leaves_nothing_running(project: NotebookProject, during: bool) -> None:
    hold = project.folder / ".computed.hold-b"
    kernel = project.kernel()
    kernel.run(READY + "panel = ax.build('panel', file=ax.file('panel.csv'))")
    assert project.processes()
    if during:
        hold.touch()
        kernel.start(BUILD)
        wait_for((project.folder / ".computed").exists)
    os.kill(kernel.manager.provisioner.pid, signal.SIGKILL)  # type: ignore[union-attr]
    wait_for(lambda: not project.processes())
    kernel.client.stop_channels()
    kernel.manager.cleanup_resources()
    hold.unlink(missing_ok=True)
    assert "0 jobs built, 1 reused" in project.works("run", "panel")


@pytest.mark.slow
def test_a_running_server_is_used_and_left(project: NotebookProject) -> None:
    project.start_server()
    try:
        with project.kernel() as kernel:
            kernel.run(READY + BUILD)
        wait_for(lambda: not [each for each in project.processes() if "driver" in each])
        project.ax("status").ok()
        assert "0 jobs built, 1 reused" in project.ax("run", "panel").ok().stdout
    finally:
        project.stop_server()


@pytest.mark.slow
def test_jobs_of_one_cell_and_of_several_stand_in_places_of_their_own(project: NotebookProject) -> None:
    loop = "jobs = [ax.build(slopes, panel=panel, scale=float(scale)) for scale in SCALES]"
    with project.kernel() as kernel:
        kernel.run(READY + "panel = ax.build('panel', file=ax.file('panel.csv'))")
        said = kernel.run("SCALES = (1, 2)\n" + loop, "cell-1")
        assert re.findall(r"  (new|option .*)\n", said) == ["new", "new"]
        said = kernel.run("SCALES = (1, 3)\n" + loop, "cell-1")
        assert said.startswith("reused slopes main-1\n")
        assert "option scale: 2.0 → 3.0" in said
        said = kernel.run("ax.build(slopes, panel=panel, scale=9.0)", "cell-2")
        assert "  new" in said


def test_a_job_that_is_gone_is_said(shared: NotebookProject, kernel: Kernel) -> None:
    kernel.run(BUILD)
    panel = kernel.run("print(panel)").strip()
    file = next(shared.job_folder(panel).glob("*.parquet"))
    file.write_bytes(b"x" + file.read_bytes()[1:])
    error = kernel.fails("ax.build(slopes, panel=panel, scale=3.0)")
    assert panel in error
    assert "run the cell that builds it again" in error
    assert "its result is gone" in kernel.run(BUILD)


def test_what_a_stage_prints_is_in_the_cell(kernel: Kernel) -> None:
    kernel.run("@ax.stage\ndef loud(number: int):\n    print('heard', number)\n    return {'x': number}")
    assert "loud | heard 4\n" in kernel.run("job = ax.build(loud, number=4)")
    assert "heard" not in kernel.run("job = ax.build(loud, number=4)")
