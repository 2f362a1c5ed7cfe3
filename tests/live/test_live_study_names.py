"""Two study files with one name, as a user runs them: the second is refused until it is told to take over."""

from __future__ import annotations

from typing import ClassVar

import pytest
from live_project import STUDY, Done, fixture_of
from live_toy import ToyProject

SCRIPT = """\
from shortloop.eeg.pipeline import run_study


def main(urd):
    return run_study(urd, pipeline)


def pipeline(run):
    return run.build("toy", add=run.study.seed)
"""


class SeedProject(ToyProject):
    sources: ClassVar = {**ToyProject.sources, "build_scripts/build_seed.py": SCRIPT}


toy = fixture_of(SeedProject)


def run(toy: ToyProject, **environment: str) -> Done:
    return toy.ax("run", "seed", **environment)


def test_a_second_file_of_a_name_is_noticed(toy: ToyProject) -> None:
    assert "1 job built" in run(toy).stdout
    first, second = toy.folder / "study.toml", toy.write("second.toml", STUDY.replace("seed = 3", "seed = 4"))

    said = toy.works("plan", "seed", "--settings", "second.toml")
    assert "1 job would be built" in said
    assert "a run would not begin: another study file is also named live" in said

    refused = run(toy, STUDY=str(second))
    assert refused.returncode == 1
    for words in ("another study file is also named live", str(first), str(second), "--take-over"):
        assert words in refused.stdout + refused.stderr
    assert "0 jobs built, 1 reused" in run(toy).stdout  # nothing was changed for the first

    taken = toy.works("run", "seed", "--settings", "second.toml", "--take-over")
    assert f"the study live was run from {first} before" in taken
    assert "1 job built" in taken
    assert run(toy).returncode == 1
    assert "0 jobs built, 1 reused" in run(toy, SHORTLOOP_TAKE_OVER="1").stdout


@pytest.mark.slow
def test_a_file_that_was_moved_takes_over_with_a_word(toy: ToyProject) -> None:
    run(toy, SHORTLOOP_TAKE_OVER="1")
    moved = (toy.folder / "study.toml").rename(toy.folder / "moved.toml")
    done = run(toy, STUDY=str(moved))
    assert done.returncode == 0, done.stderr
    assert f"it is that of {moved} from now on" in done.stdout
    again = run(toy, STUDY=str(moved)).stdout
    assert "from now on" not in again
    assert "0 jobs built, 1 reused" in again
