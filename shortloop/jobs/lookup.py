"""Which jobs are there already, and why others are to be built: what planner and executor share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shortloop.jobs.explain.differences import is_open
from shortloop.jobs.explain.reasons import reason_to_build, reason_to_wait
from shortloop.jobs.keys.key import Parts
from shortloop.jobs.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.jobs.request import Request, request
from shortloop.jobs.store.manifest import Manifest
from shortloop.jobs.store.places import Place
from shortloop.jobs.store.store import Store
from shortloop.jobs.store.stored_job import StoredJob

__all__ = ["DECLARED", "Lookup", "reused"]

DECLARED = "declared harmless"
"""How the reason begins why a job is used though its code changed."""


class Lookup:
    """Looks for the jobs that one run of a pipeline asks for.

    Parameters
    ----------
    store : Store
        The finished jobs.
    pipeline : str
        Name of the run.
    """

    def __init__(self, store: Store, pipeline: str) -> None:
        self.store = store
        self.pipeline = pipeline
        self.places: dict[Place, str] = {}
        """Job id in each place for which a job was found or built."""
        self._seen: dict[Place, int] = {}

    def request(
        self,
        stage: str,
        partition: str | None,
        modules: Sequence[str],
        arguments: Mapping[str, object],
        datasets: Mapping[str, object] | None = None,
    ) -> Request:
        """Sort out what the pipeline asks for; see `shortloop.jobs.pipeline.Run.build`.

        Parameters
        ----------
        stage, partition, modules, arguments, datasets
            As given to `build`.

        Returns
        -------
        Request
        """
        return request(self.pipeline, stage, partition, arguments, modules, self._seen, datasets)

    def find(self, wanted: Request, parts: Parts) -> Built | None:
        """A whole job with the key of a request.

        Parameters
        ----------
        wanted : Request
            The job.
        parts : Parts
            What its key is made of.

        Returns
        -------
        Built or None
            None if there is none, or if its key is not known yet, as something that it is made from is still
            to be built.
        """
        if not all(job.content for job in wanted.above()):
            return None
        found = self.store.find(parts.key())
        if found is None:
            return None
        self.places[wanted.place] = found.job
        return reused(found, wanted)

    def look(self, wanted: Request) -> Built:
        """A job as a plan says it: the one that is there, or what would be done.

        Parameters
        ----------
        wanted : Request
            The job.

        Returns
        -------
        Built
        """
        parts = wanted.parts()
        found = self.find(wanted, parts)
        if found is not None:
            return found
        before = self.before(wanted)
        perhaps = reason_to_wait(parts, before, wanted.sources) or self._may_be_there(wanted, parts)
        return Built(
            "",
            wanted.stage,
            wanted.partition,
            seconds=0.0 if before is None else float(before.cost.get("seconds", 0)),
            has_tables=before is not None and before.has_tables,
            plan=PERHAPS if perhaps else BUILD,
            reason=perhaps or self.reason(wanted, parts),
            variant=wanted.variant,
            files=wanted.names,
        )

    def _may_be_there(self, wanted: Request, parts: Parts) -> str:
        """What is not known yet and decides whether a job that is in no place here is the one: of a setting
        that is put back, or of another pipeline."""
        if not is_open(parts):
            return ""
        jobs = self.store.index.of_method(parts.method, wanted.partition)
        kept = (self.store.manifest_of(job) for job in jobs)
        return next(filter(None, (reason_to_wait(parts, each, wanted.sources) for each in kept)), "")

    def before(self, wanted: Request) -> Manifest | None:
        """The job that was in the same place when the pipeline was last run.

        Parameters
        ----------
        wanted : Request
            The job.

        Returns
        -------
        Manifest or None
            None if there was none.
        """
        return self.store.manifest_of(self.store.index.in_place(wanted.place))

    def reason(self, wanted: Request, parts: Parts) -> str:
        """Why a job that was not found is built: what differs from the one in its place before.

        Parameters
        ----------
        wanted : Request
            The job.
        parts : Parts
            What its key is made of.

        Returns
        -------
        str
            One line.
        """
        return reason_to_build(self.store, parts, self.before(wanted), wanted.sources)


def reused(found: StoredJob, wanted: Request) -> Built:
    """A job that is there, as the pipeline sees it.

    Parameters
    ----------
    found : StoredJob
        The job.
    wanted : Request
        What was asked for.

    Returns
    -------
    Built
    """
    return Built(
        found.job,
        wanted.stage,
        wanted.partition,
        found.path,
        seconds=found.seconds,
        content=found.content,
        rejected=found.rejected,
        has_tables=found.has_tables,
        plan=REUSE,
        reason=f"{DECLARED}: {found.harmless}" if found.harmless else "",
        variant=wanted.variant,
        files=wanted.names,
    )
