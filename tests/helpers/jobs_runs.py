"""Pipelines that are planned, and run by an exax that is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jobs_exax import Exax

from shortloop.plan.pipeline import Built, Pipeline
from shortloop.plan.planner import Lookup, Planner
from shortloop.run.build_jobs import Executor
from shortloop.run.progress import Name, Progress
from shortloop.store.store import Store


class Told(Progress):
    """Keeps what a run tells, and shows nothing."""

    def __init__(self) -> None:
        super().__init__([], {})
        self.events: list[object] = []

    def started(self, job: Name, folder: Callable[[], Path | None] = lambda: None) -> None:
        self.events.append(job)

    def ended(self, built: Built) -> None:
        self.events.append(built)

    def reading(self, files: int, done: int, total: int, seconds: float) -> None:
        self.events.append((files, done, total))


class Runs:
    """Plans and runs pipelines of the project in the current folder."""

    def __init__(self, project: Path, name: str = "toy") -> None:
        self.exax = Exax(project)
        self.name = name
        self.told = Told()

    def plan(self, pipeline: Pipeline) -> Planner:
        with Store() as store:
            plan = Planner(Lookup(store, self.name))
            pipeline(plan)
        return plan

    def run(self, pipeline: Pipeline, progress: Progress | None = None) -> Executor:
        """As far as it gets, its jobs are in their places."""
        with Store() as store:
            lookup = Lookup(store, self.name)
            run = Executor(lookup, self.exax, progress or self.told)
            try:
                pipeline(run)
            finally:
                store.index.put_in_places(lookup.places)
        return run
