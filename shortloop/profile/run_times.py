"""Times of a run's jobs: its critical path, jobs that waited, and when no job ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.project.project import configuration
from shortloop.run.runs import RunRecord
from shortloop.stages.results import sources_of
from shortloop.store.manifest import MANIFEST
from shortloop.store.setup import json_object, setup_of


class BuiltJob(NamedTuple):
    """A job that a run built; times in seconds since the run began."""

    job: str
    stage: str
    partition: str
    began: float
    ended: float
    cpu: float  # processor seconds
    inputs: tuple[str, ...]  # built by the same run

    @property
    def seconds(self) -> float:
        return self.ended - self.began


class Step(NamedTuple):
    """A job on the critical path, and the seconds for which it waited although its inputs were there."""

    job: BuiltJob
    waited: float


@dataclass(frozen=True)
class RunTimes:
    """Times of a run."""

    seconds: float
    jobs: Mapping[str, BuiltJob]

    def waited(self, job: BuiltJob) -> float:
        """Seconds between the end of a job's last input, or the begin of the run, and its begin."""
        return max(job.began - max((self.jobs[each].ended for each in job.inputs), default=0.0), 0.0)

    @cached_property
    def critical_path(self) -> list[Step]:
        """The chain of jobs, each an input of the next, that takes longest together."""
        before: dict[str, BuiltJob | None] = {}
        seconds: dict[str, float] = {}  # of the longest chain that ends with a job
        for job in sorted(self.jobs.values(), key=lambda each: each.began):
            above = [self.jobs[each] for each in job.inputs]
            before[job.job] = last = max(above, key=lambda each: seconds[each.job], default=None)
            seconds[job.job] = job.seconds + (seconds[last.job] if last else 0.0)
        path: list[Step] = []
        end = max(self.jobs.values(), key=lambda each: seconds[each.job], default=None)
        while end is not None:
            path.append(Step(end, self.waited(end)))
            end = before[end.job]
        return path[::-1]

    @cached_property
    def idle(self) -> list[tuple[float, float]]:
        """Begin and end of each time in which no job ran."""
        found, at = [], 0.0
        for job in sorted(self.jobs.values(), key=lambda each: each.began):
            if job.began > at:
                found.append((at, job.began))
            at = max(at, job.ended)
        return [*found, (at, self.seconds)] if self.seconds > at else found


def times_of(record: RunRecord) -> RunTimes:
    """Read the times of the jobs that a run built and that are still known."""
    workdirs = configuration().workdirs
    folders = {
        each.job: Path(workdirs[workdir]) / each.job
        for each in record.jobs
        if each.built and (workdir := each.job.rpartition("-")[0]) in workdirs
    }
    setups = {job: setup_of(folder) for job, folder in folders.items()}
    known = {job: setup for job, setup in setups.items() if setup.get("endtime")}
    jobs = {}
    for each in record.jobs:
        if each.job in known:
            setup = known[each.job]
            # Its hash, which takes longer, matters to who uses the results.
            cost: Any = json_object(folders[each.job] / MANIFEST).get("cost", {})
            above = {job.partition("/")[0] for _, job in sources_of(setup)}
            jobs[each.job] = BuiltJob(
                each.job,
                each.stage,
                each.partition or "",
                setup["starttime"] - record.began,
                setup["endtime"] - record.began,
                cost.get("cpu_seconds", 0.0),
                tuple(sorted(above & known.keys())),
            )
    return RunTimes(record.seconds, jobs)
