"""A change of code that is declared harmless, from the shell: nothing is built, and one is told."""

from __future__ import annotations

import sys

import pytest
from bootstrap_project import BootstrapProject
from live_project import fixture_of, in_short_folder

WHY = "only a new name"


class BuiltProject(BootstrapProject):
    def prepare(self) -> None:
        self.built()


project = fixture_of(BuiltProject, "function")


@pytest.mark.slow
def test_it_is_said_wherever_one_asks(project: BootstrapProject) -> None:
    before = project.in_places()
    project.edit_method("rng = np", "random = np")
    project.edit_method("rng.choice", "random.choice")
    said = project.works("harmless", "bootstrap", WHY, "bootstrap")
    assert "2 × bootstrap: code of a_bootstrap.Bootstrap.compute (methods/a_bootstrap.py)" in said
    assert f"reused 2 × bootstrap: declared harmless: {WHY}" in project.works("plan", "bootstrap")
    assert project.built() == {}
    assert project.in_places() == before
    for command in (("show", before["bootstrap A"]), ("why", before["bootstrap A"]), ("why", "bootstrap")):
        said = project.works(*command)
        assert "declared harmless on" in said
        assert WHY in said
    assert "methods.a_bootstrap: " in project.works("show", before["bootstrap A"])
    assert "all are as they were recorded" in project.works("verify")
    assert "0 of " in project.works("gc")
    assert "same code, options and inputs" in project.works(
        "compare", before["bootstrap A"], before["bootstrap A"]
    )


@pytest.mark.slow
def test_the_next_edit_is_one(project: BootstrapProject) -> None:
    old = project.in_places()["bootstrap A"]
    project.edit_method("rng = np", "random = np")
    project.edit_method("rng.choice", "random.choice")
    project.works("harmless", "bootstrap", WHY, "bootstrap")
    project.edit_method("[0.025, 0.975]", "[0.05, 0.95]")
    assert project.built() == {
        "bootstrap A": "code of a_bootstrap (methods/a_bootstrap.py)",
        "bootstrap B": "code of a_bootstrap (methods/a_bootstrap.py)",
        "intervals": "2 of 2 bootstrap jobs came out different",
    }
    said = project.works("why", "bootstrap")
    assert "with what was declared harmless before" in said
    assert "+        ends = np.quantile" in said
    project.edit_method("[0.05, 0.95]", "[0.025, 0.975]")
    assert project.built() == {}
    assert project.in_places()["bootstrap A"] == old


@pytest.mark.slow
def test_what_is_no_change_of_code_is_refused(project: BootstrapProject) -> None:
    with (project.folder / "data" / "A.txt").open("a", encoding="utf-8") as file:
        file.write("1\n")
    project.edit_method("rng = np", "random = np")
    said = project.refused("harmless", "bootstrap", WHY, "bootstrap")
    assert "bootstrap A: file A.txt was changed" in said
    said = project.refused("harmless", "train", WHY, "bootstrap")
    assert "bootstrap, intervals" in said


def test_while_a_run_is_in_progress() -> None:
    code = (
        "from shortloop.store.workdir import only_run\nimport subprocess, sys\nwith only_run('a run'):"
        "\n    c = [sys.executable, '-m', 'shortloop', 'harmless', 'bootstrap', 'x', 'bootstrap']"
        "\n    sys.exit(subprocess.run(c).returncode)"
    )
    with in_short_folder(BootstrapProject) as project:
        said = project.shell(sys.executable, "-c", code).fails()
    assert "a run is in progress" in said
