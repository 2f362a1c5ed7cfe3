"""What a pipeline sees of a run and of its jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from jobs_project import empty_project, make_job

from shortloop.base.errors import InputError
from shortloop.plan.pipeline import Built, Run
from shortloop.project.project import project_directory
from shortloop.stages.inputs import File
from shortloop.stages.records import write_record

project = pytest.fixture(empty_project)


class Nothing(Run):
    """Builds nothing and reads nothing."""

    def build(
        self, stage: str, *, partition: str | None = None, modules: Sequence[str] = (), **arguments: object
    ) -> Built:
        return Built("", stage, partition)

    def files(self, paths: Sequence[Path]) -> list[File]:
        return [File(path.name, path) for path in paths]


def test_a_run_has_a_name_and_jobs() -> None:
    run = Nothing("toy")
    assert (run.name, run.jobs) == ("toy", [])
    assert run.file(Path("/x/a.csv")) == File("a.csv", Path("/x/a.csv"))
    assert run.file("x/a.csv") == File("a.csv", project_directory() / "x/a.csv")


def test_a_run_is_a_planner_or_an_executor() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Run("toy")  # type: ignore[abstract]


def test_the_result_of_a_job(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_job(project, "main-3")
    with monkeypatch.context() as inside:
        inside.chdir(folder)
        write_record("toy", "A", {}, facts={"n": 1})
    assert Built("main-3", "toy", "A", folder).result().facts == {"n": 1}
    with pytest.raises(InputError):
        Built("", "toy", "A").result()
