"""A number of permutations that changes: only new ones are computed, and the null is as from scratch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from live_project import LiveProject

STAGES = {"test-labels": "permute", "training-labels": "retrain"}


def with_count(project: LiveProject, stage: str, count: int) -> dict[str, np.ndarray]:
    """Nulls of a run with so many permutations, which must rebuild the stage and what is below."""
    text = (project.folder / "study.toml").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("count = ")]
    project.write_study("\n".join([*kept, f"count = {count}"]) + "\n")
    built = project.run()
    assert {stage for stage, _ in built} == {stage, "individual", "group", "report"}
    return nulls(project, stage)


def nulls(project: LiveProject, stage: str) -> dict[str, np.ndarray]:
    return {name: np.load(project.result(stage, name) / "curve_null.npy") for name in "AB"}


def given(folder: Path) -> str | None:
    return json.loads((folder / "setup.json").read_text(encoding="utf-8"))["jobs"]["before"]


# Every stage grows as if it began anew in tests/test_stages.py.
@pytest.mark.slow
@pytest.mark.parametrize("null", ["test-labels", "training-labels"])
def test_only_new_ones_are_computed(project: LiveProject, null: str) -> None:
    text = (project.folder / "study.toml").read_text(encoding="utf-8")
    project.write_study(text.replace("count = ", f'null = "{null}"\ncount = '))
    assert project.run()
    stage = STAGES[null]
    few = nulls(project, stage)
    first = {name: project.job(stage, name) for name in "AB"}
    assert given(project.result(stage, "A")) is None

    many = with_count(project, stage, 130)
    for name in "AB":
        assert given(project.result(stage, name)) == first[name]
        assert many[name].shape[0] == 130
        assert many[name][:39].tobytes() == few[name].tobytes()

    # What is handed over is used as it is, so it shows that nothing else was computed for it.
    some = with_count(project, stage, 60)
    second = project.result(stage, "A")
    assert given(second) not in (None, first["A"])
    assert some["A"].tobytes() == many["A"][:60].tobytes()

    for job in (project.folder / "workdirs" / "main").glob("main-*"):
        if json.loads((job / "setup.json").read_text(encoding="utf-8"))["method"] == stage:
            (job / "record.json").unlink(missing_ok=True)  # all are damaged now: from scratch
    project.run()
    scratch = project.result(stage, "A")
    assert given(scratch) is None
    assert np.load(scratch / "curve_null.npy").tobytes() == some["A"].tobytes()
    project.write_study(text)
