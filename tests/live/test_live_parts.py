"""The table of runs, parts of a pipeline, jobs that are built once more, and jobs that two scripts share."""

from __future__ import annotations

import json
import re
import signal
import sys

from bootstrap_project import BootstrapProject
from cases import first_cases
from live_project import AX, PATIENCE, fixture_of, wait_for

COLUMNS = ["run", "when", "script", "settings", "part", "built", "reused", "seconds", "exit"]
project = fixture_of(BootstrapProject)


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
    assert (rows[3][0], rows[3][-1]) == ("4", "1")
    first = project.works("runs", "1")
    assert re.search(r"bootstrap +A +main-1 +built +new", first)
    assert re.search(r"intervals +main-3 +built +new", first)
    assert "job main-0" in first
    assert "3 jobs built, 0 reused" in first
    assert "0 jobs built, 3 reused" in project.works("runs", "3")
    assert "could not convert string 'no'" in project.works("runs", "4")
    assert "no settings file" in project.refused("runs", "1", "--settings-to", "x.toml")
    assert "a number from 1 to 4" in project.refused("runs", "5")
    project.write("data/A.txt", project.sources["data/A.txt"])


@first_cases(
    1, ("end", "exit_"), [(signal.SIGKILL, "cut off"), (signal.SIGINT, "130"), (signal.SIGTERM, "143")]
)
def test_a_run_that_did_not_end(project: BootstrapProject, end: signal.Signals, exit_: str) -> None:
    number = len(table(project))
    project.write("methods/a_bootstrap.py", project.sources["methods/a_bootstrap.py"])
    project.edit_method("np.mean(", f"__import__('time').sleep(0.05) or {int(end)} + np.mean(")
    running = project.popen(AX, "run", "bootstrap")
    wait_for(lambda: table(project)[number:] and table(project)[-1][-1] == "running")
    running.send_signal(end)
    running.communicate(timeout=PATIENCE)
    wait_for(lambda: table(project)[-1][-1] != "running")
    assert table(project)[-1][-1] == exit_


def test_parts_are_built_and_what_is_left_out_stays_as_it_was(project: BootstrapProject) -> None:
    project.write("methods/a_bootstrap.py", project.sources["methods/a_bootstrap.py"])
    project.edit_method("np.mean(", "2 + np.mean(")
    said = project.refused("run", "bootstrap", "--only", "intervals")
    assert "missing: bootstrap A, bootstrap B" in said
    assert "`--until intervals`" in said
    said = project.works("run", "bootstrap", "--until", "bootstrap")
    assert "intervals is not part of this run, so no results are delivered" in said
    said = project.works("run", "bootstrap", "--only", "intervals")
    assert "1 job built, 0 reused" in said
    assert said.count(" to ") == 2  # results
    before = project.in_places()
    project.edit_method("np.mean(", "1 + np.mean(")
    assert list(project.built("--until", "bootstrap", "--partition", "A")) == ["bootstrap A"]
    after = project.in_places()
    assert {name for name in before if before[name] != after[name]} == {"bootstrap A"}
    # The interval's job rests on A as it was.
    superseded = project.works("jobs", "--state", "superseded")
    assert not re.search(rf"\b({before['bootstrap A']}|{before['intervals']})\b", superseded)
    assert list(project.built()) == ["bootstrap B", "intervals"]


def test_exax_itself_runs_a_part_and_scripts_without_pipelines_have_none(project: BootstrapProject) -> None:
    asked = json.dumps({"until": "bootstrap", "only": "", "partition": "A", "force": ["bootstrap"]})
    assert "1 job built, 0 reused" in project.ax("run", "bootstrap", SHORTLOOP_SELECTION=asked).stdout
    said = project.ax("run", "bootstrap", SHORTLOOP_SELECTION="bootstrap").fails()
    assert "unset SHORTLOOP_SELECTION" in said
    script = "def main(urd):\n    urd.build('bootstrap', file='', draws=3)\n"
    project.write("build_scripts/build_by_itself.py", script)
    assert "calls exax directly" in project.shortloop("run", "by_itself", "--until", "bootstrap").fails()


def test_two_scripts_share_jobs_and_an_edit_of_one_builds_no_other(project: BootstrapProject) -> None:
    project.built()
    text = project.sources["build_scripts/build_bootstrap.py"]
    other = project.write("build_scripts/build_other.py", text.replace('name="bootstrap"', 'name="other"'))
    assert "all 3 jobs are cached: nothing would be built" in project.works("plan", "other")
    assert "0 jobs built, 3 reused" in project.works("run", "other")
    job = project.in_places()["intervals"]
    assert "used by bootstrap, other" in " ".join(project.works("show", job).split())
    assert "bootstrap, other" in project.works("jobs")
    other.write_text(other.read_text(encoding="utf-8").replace("draws=1000", "draws=1200"), encoding="utf-8")
    assert "3 jobs built, 0 reused" in project.works("run", "other")
    assert "all 3 jobs are cached" in project.works("plan", "bootstrap")
    assert "option draws: 1000 → 1200" in project.works("why", "bootstrap")
    assert f"superseded {job}" not in project.works("gc")


def test_nothing_is_declared_harmless_while_a_run_is_in_progress(project: BootstrapProject) -> None:
    code = (
        "from shortloop.store.workdir import only_run\nimport subprocess, sys\nwith only_run('a run'):"
        "\n    c = [sys.executable, '-m', 'shortloop', 'harmless', 'bootstrap', 'x', 'bootstrap']"
        "\n    sys.exit(subprocess.run(c).returncode)"
    )
    assert "a run is in progress" in project.shell(sys.executable, "-c", code).fails()
