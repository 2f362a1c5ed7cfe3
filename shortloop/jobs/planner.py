"""What a run would do: its jobs in order, and which of them are there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shortloop.jobs.keys.code import at_one_moment
from shortloop.jobs.lookup import Lookup
from shortloop.jobs.namesakes import named_files
from shortloop.jobs.pipeline import Built, NotThereYet, Pipeline, Run, follow
from shortloop.jobs.project import project_directory
from shortloop.jobs.request import Request
from shortloop.jobs.store.inputs import known_content
from shortloop.worker.inputs import File

__all__ = ["Planner"]


class Planner(Run):
    """Lists the jobs that a pipeline asks for. It builds none, and reads no input file.

    Parameters
    ----------
    lookup : Lookup
        Finds what is there.
    """

    def __init__(self, lookup: Lookup) -> None:
        super().__init__(lookup.pipeline)
        self._lookup = lookup
        self.requests: list[Request] = []
        """What was asked for, of each of its jobs."""
        self.unread = 0
        """How many input files are new or changed, so that their content is not known yet."""
        self.waits_for: Built | None = None
        """The job whose results say what comes after it, if the pipeline was planned no further."""
        self.note = ""
        """What a run would say before it begins; empty: nothing."""

    def follow(self, pipeline: Pipeline) -> None:
        """Plan a pipeline, as far as it can be told now.

        Parameters
        ----------
        pipeline : callable
            The pipeline.
        """
        try:
            with at_one_moment():
                follow(pipeline, self)
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
        wanted = self._lookup.request(stage, partition, modules, arguments, datasets)
        job = self._lookup.look(wanted)
        self.jobs.append(job)
        self.requests.append(wanted)
        return job

    def files(self, paths: Sequence[Path]) -> list[File]:
        """Input files; their content only as far as it is known."""
        paths = [project_directory() / path for path in paths]
        found = known_content(paths)
        self.unread += found.count("")
        return named_files(found, paths)
