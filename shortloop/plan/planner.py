"""Plan of a run: its jobs in order, and which of them exist."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from shortloop.base.plain import Plain
from shortloop.keys.code import at_one_moment
from shortloop.plan.lookup import Lookup
from shortloop.plan.namesakes import named_files, options_of, unread_in
from shortloop.plan.pipeline import REUSE, Built, NotThereYet, Pipeline, Run, follow
from shortloop.plan.request import Request
from shortloop.project.project import project_directory
from shortloop.stages.inputs import File
from shortloop.store.inputs import known_content

__all__ = ["Asked", "Call", "Planner", "asked_of_joblib"]


class Asked(NamedTuple):
    """How a pipeline asked for a job, beside the request."""

    files: Sequence[tuple[str, Path]]
    """Its input files, as of `options_of`."""
    joblib: Mapping[str, Plain]
    """What `joblib.parallel_config` said there."""


class Call(NamedTuple):
    """What `Run.build` was given beside stage and partition."""

    modules: Sequence[str]
    datasets: Mapping[str, object] | None
    arguments: Mapping[str, object]


def asked_of_joblib() -> dict[str, Plain]:
    """What `joblib.parallel_config` says in this thread."""
    joblib = sys.modules.get("joblib.parallel")
    if joblib is None:  # so nobody has said anything
        return {}
    backend, n_jobs = joblib.get_active_backend()
    name = next((each for each, kind in joblib.BACKENDS.items() if type(backend) is kind), "another one")
    if backend.nesting_level is None and n_jobs is None:  # as it is before anybody says something
        return {}
    return {"backend": name, "n_jobs": None if n_jobs is None else backend.effective_n_jobs(n_jobs)}


class Planner(Run):
    """Lists the jobs that a pipeline asks for. It builds none, and reads no input file.

    lookup: finds what is there.
    """

    def __init__(self, lookup: Lookup) -> None:
        super().__init__(lookup.pipeline)
        self.lookup = lookup
        self.last: Built | None = None
        """The last job, if the pipeline was planned to its end."""
        self.given: dict[Path, str] = {}
        """Content of each input file, as far as it is known."""
        self.requests: list[Request] = []
        """What was asked for, of each of its jobs."""
        self.asked: list[Asked] = []
        """How each of its jobs was asked for."""
        self.calls: list[Call] = []
        self.unread_jobs: set[int] = set()
        """Jobs that are given files whose content is not known yet, by their order."""
        self.unread = 0
        """How many input files are new or changed, so that their content is not known yet."""
        self.waits_for: Built | None = None
        """The job whose results say what comes after it, if the pipeline was planned no further."""
        self.note = ""
        """What a run would say before it begins; empty: nothing."""

    @property
    def is_there(self) -> bool:
        """True if all jobs that the pipeline asks for are there, and nothing of them is to be said or tried
        again."""
        wanting = (job.plan != REUSE or job.rejected or job.incomplete for job in self.jobs)
        return self.last is not None and not self.unread and not any(wanting)

    def follow(self, pipeline: Pipeline) -> None:
        """Plan a pipeline, as far as it can be told now."""
        try:
            with at_one_moment():
                self.last = follow(pipeline, self)
        except NotThereYet as error:
            self.waits_for = error.job

    def build(
        self,
        stage: str,
        *,
        partition: str | None = None,
        modules: Sequence[str] = (),
        datasets: Mapping[str, object] | None = None,
        **arguments: object,
    ) -> Built:
        """Look whether a job is there, and note what would be done; see `Run.build`."""
        wanted = self.lookup.request(stage, partition, modules, arguments, datasets)
        job = self.lookup.look(wanted)
        if unread_in(arguments):
            self.unread_jobs.add(len(self.jobs))
        self.jobs.append(job)
        self.requests.append(wanted)
        self.asked.append(Asked(options_of(arguments), asked_of_joblib()))
        self.calls.append(Call(modules, datasets, arguments))
        return job

    def files(self, paths: Sequence[Path]) -> list[File]:
        """Input files; their content only as far as it is known."""
        paths = [project_directory() / path for path in paths]
        found = known_content(paths)
        self.given |= zip(paths, found, strict=True)
        self.unread += found.count("")
        return named_files(found, paths)
