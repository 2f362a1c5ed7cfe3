"""The table of runs: what each run of a project built, reused and said, and its settings to go back to."""

from __future__ import annotations

import re
import signal

from bootstrap_project import BootstrapProject
from cases import first_cases
from live_project import AX, PATIENCE, fixture_of, wait_for

COLUMNS = ["run", "when", "script", "settings", "part", "built", "reused", "seconds", "exit"]
project = fixture_of(BootstrapProject, "function")


def table(project: BootstrapProject) -> list[list[str]]:
    lines = project.works("runs").splitlines()
    assert lines[0].split() == COLUMNS
    return [re.split(r"  +", line.strip()) for line in lines[1:-1]]


def test_each_run_has_a_line(project: BootstrapProject) -> None:
    project.built()
    project.built("--until", "bootstrap", "--partition", "A")
    project.ax("run", "bootstrap").ok()
    (project.folder / "data" / "A.txt").write_text("no number\n", encoding="utf-8")
    project.shortloop("run", "bootstrap")
    rows = [[row[0], *row[2:-2], row[-1]] for row in table(project)]
    assert rows[:3] == [
        ["1", "build_bootstrap", "3", "0", "0"],
        ["2", "build_bootstrap", "--until bootstrap --partition A", "0", "1", "0"],
        ["3", "build_bootstrap", "0", "3", "0"],
    ]
    assert rows[3][0] == "4"
    assert rows[3][-1] == "1"
    first = project.works("runs", "1")
    assert re.search(r"bootstrap +A +main-1 +built +new", first)
    assert re.search(r"intervals +main-3 +built +new", first)
    assert "job main-0" in first
    assert "3 jobs built, 0 reused" in first
    assert "0 jobs built, 3 reused" in project.works("runs", "3")
    assert "could not convert string 'no'" in project.works("runs", "4")
    assert "no settings file" in project.refused("runs", "1", "--settings-to", "x.toml")
    assert "a number from 1 to 4" in project.refused("runs", "5")


@first_cases(
    1, ("end", "exit_"), [(signal.SIGKILL, "cut off"), (signal.SIGINT, "130"), (signal.SIGTERM, "143")]
)
def test_a_run_that_did_not_end(project: BootstrapProject, end: signal.Signals, exit_: str) -> None:
    number = len(table(project))
    project.edit_method("np.mean(", f"__import__('time').sleep(0.05) or {int(end)} + np.mean(")
    running = project.popen(AX, "run", "bootstrap")
    wait_for(lambda: table(project)[number:] and table(project)[-1][-1] == "running")
    running.send_signal(end)
    running.communicate(timeout=PATIENCE)
    wait_for(lambda: table(project)[-1][-1] != "running")
    assert table(project)[-1][-1] == exit_
