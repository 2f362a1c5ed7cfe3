"""Pipelines that are planned, and run by an exax that is none."""

from __future__ import annotations

from pathlib import Path

from jobs_exax import Exax

from shortloop.plan.pipeline import Pipeline
from shortloop.plan.planner import Lookup, Planner
from shortloop.run.build_jobs import Executor
from shortloop.run.progress import Event, Listener
from shortloop.store.store import Store


class Runs:
    """Plans and runs pipelines of the project in the current folder."""

    def __init__(self, project: Path, name: str = "toy") -> None:
        self.exax = Exax(project)
        self.name = name
        self.told: list[Event] = []

    def plan(self, pipeline: Pipeline) -> Planner:
        with Store() as store:
            plan = Planner(Lookup(store, self.name))
            pipeline(plan)
        return plan

    def run(self, pipeline: Pipeline, tell: Listener | None = None) -> Executor:
        """As far as it gets, its jobs are in their places."""
        with Store() as store:
            lookup = Lookup(store, self.name)
            run = Executor(lookup, self.exax, tell or self.told.append)
            try:
                pipeline(run)
            finally:
                store.index.put_in_places(lookup.places)
        return run
