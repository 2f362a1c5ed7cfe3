"""Parts of a pipeline: up to a stage, one stage alone, and jobs that are built once more."""

from __future__ import annotations

import json

import pytest
from bootstrap_project import BootstrapProject
from live_project import fixture_of

project = fixture_of(BootstrapProject, "function")


@pytest.mark.slow
def test_what_is_left_out_stays_as_it_was(project: BootstrapProject) -> None:
    assert list(project.built()) == ["bootstrap A", "bootstrap B", "intervals"]
    before = project.in_places()
    project.edit_method("np.mean(", "1 + np.mean(")
    assert list(project.built("--until", "bootstrap", "--partition", "A")) == ["bootstrap A"]
    after = project.in_places()
    assert {name for name in before if before[name] != after[name]} == {"bootstrap A"}
    said = project.works("jobs", "--state", "superseded")
    assert "0 jobs" in said  # the interval's job still rests on what A was before
    assert list(project.built()) == ["bootstrap B", "intervals"]


@pytest.mark.slow
def test_only_needs_what_is_above(project: BootstrapProject) -> None:
    said = project.refused("run", "bootstrap", "--only", "intervals")
    assert "missing: bootstrap A, bootstrap B" in said
    assert "`--until intervals`" in said
    assert project.in_places() == {}
    project.built("--until", "bootstrap", "--partition", "A")
    assert "missing: bootstrap B\n" in project.refused("plan", "bootstrap", "--only", "intervals")
    said = project.works("run", "bootstrap", "--until", "bootstrap")
    assert "intervals is not part of this run, so no results are delivered" in said
    assert " to " not in said
    file = project.folder / "data" / "A.txt"
    file.write_text(
        file.read_text(encoding="utf-8"), encoding="utf-8"
    )  # a plan, which reads none, cannot tell
    said = project.works("run", "bootstrap", "--only", "intervals")
    assert "1 job built, 0 reused" in said
    assert said.count(" to ") == 2  # results
    file.write_text("1\n2\n", encoding="utf-8")
    assert "missing: bootstrap A\n" in project.refused("run", "bootstrap", "--only", "intervals")


@pytest.mark.slow
def test_a_job_that_is_built_once_more(project: BootstrapProject) -> None:
    said = project.works("plan", "bootstrap", "--all", "--until", "bootstrap", "--partition", "B")
    assert "intervals" not in said
    assert "1 job would be built" in said
    project.built()
    said = project.works("plan", "bootstrap", "--force", "bootstrap")
    assert "2 × bootstrap: you asked for it" in said
    assert "perhaps 1 × intervals: if bootstrap comes out different" in said
    job = project.in_places()["bootstrap B"]
    said = project.works("run", "bootstrap", "--force", job)
    assert "you asked for it" in said
    assert f"came out the same as {job}" in said
    assert "1 job built, 2 reused" in said
    manifest = project.folder / "workdirs/main" / project.in_places()["bootstrap B"] / "manifest.json"
    assert json.loads(manifest.read_text(encoding="utf-8"))["reason"] == "you asked for it"
    assert project.built() == {}
    assert "all are as they were recorded" in project.works("verify")


@pytest.mark.slow
def test_a_stage_that_is_not_deterministic_is_found_out(project: BootstrapProject) -> None:
    project.edit_method('seed_for(self.seed, "bootstrap", str(self.partition), unit)', "None")
    project.built()
    said = project.works("run", "bootstrap", "--force", "bootstrap")
    assert "came out different from main-" in said
    assert "array interval, array means" in said
    assert "3 jobs built, 0 reused" in said  # what is below is built, as it is made from other numbers
    assert project.built() == {}


@pytest.mark.slow
def test_what_there_is_not_is_named(project: BootstrapProject) -> None:
    project.built()
    job = project.in_places()["intervals"]
    for arguments, words in {
        ("--until", "train"): ("no such stage", "bootstrap, intervals"),
        ("--only", "bootstrap", "--partition", "C"): ("no job of this partition", "A, B"),
        ("--only", "intervals", "--partition", "A"): ("none, as its jobs are for all of the data",),
        ("--force", "main-99"): ("no such job or stage", job, "bootstrap, intervals"),
        ("--until", "bootstrap", "--force", job): ("not part of this run",),
        ("--partition", "A"): ("--until or --only",),
        ("--until", "bootstrap", "--only", "intervals"): ("give one of the two",),
    }.items():
        said = project.refused("plan", "bootstrap", *arguments)
        assert all(word in said for word in words), said
    assert "bootstrap, intervals" in project.refused("run", "bootstrap", "--until", "train")


@pytest.mark.slow
def test_exax_itself_runs_a_part(project: BootstrapProject) -> None:
    asked = json.dumps({"until": "bootstrap", "only": "", "partition": "A", "force": []})
    done = project.ax("run", "bootstrap", SHORTLOOP_SELECTION=asked)
    assert "1 job built, 0 reused" in done.stdout
    said = project.ax("run", "bootstrap", SHORTLOOP_SELECTION="bootstrap").fails()
    assert "unset SHORTLOOP_SELECTION" in said


def test_a_script_that_has_no_parts_builds_nothing(project: BootstrapProject) -> None:
    script = "def main(urd):\n    urd.build('bootstrap', file='', draws=3)\n"
    project.write("build_scripts/build_by_itself.py", script)
    said = project.refused("run", "by_itself", "--until", "bootstrap")
    assert "calls exax directly" in said
    assert not list((project.folder / "workdirs/main").glob("main-*"))
