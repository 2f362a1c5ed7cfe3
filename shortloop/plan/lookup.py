"""Look up finished jobs, and decide why others must be built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shortloop.keys.key import Parts
from shortloop.plan.explain.differences import is_open
from shortloop.plan.explain.reasons import reason_to_build, reason_to_wait
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.plan.request import Request, request
from shortloop.store.manifest import Manifest
from shortloop.store.places import Place
from shortloop.store.store import Store
from shortloop.store.stored_job import StoredJob, modules_of_objects

__all__ = ["DECLARED", "Lookup", "reused"]

RETRIED = "units of it failed, and are computed again"
DECLARED = "declared harmless"
"""How the reason begins why a job is used though its code changed."""


class Lookup:
    """Looks for the jobs that one run of a pipeline asks for.

    store: the finished jobs.
    pipeline: name of the run.
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
        """Sort out what the pipeline asks for; see `shortloop.plan.pipeline.Run.build`."""
        return request(self.pipeline, stage, partition, arguments, modules, self._seen, datasets)

    def find(self, wanted: Request, parts: Parts) -> Built | None:
        """A whole job with the key of a request."""
        if not all(job.content for job in wanted.above()):
            return None
        found = self.store.find(parts.key())
        if found is None:
            return None
        self.places[wanted.place] = found.job
        return reused(found, wanted)

    def look(self, wanted: Request) -> Built:
        """A job as a plan says it: the one that is there, or what would be done."""
        parts = wanted.parts()
        found = self.find(wanted, parts)
        if found is not None:
            return replace(found, reason=RETRIED) if found.incomplete and not found.reason else found
        before = self.before(wanted)
        perhaps = reason_to_wait(parts, before, wanted.sources) or self._may_be_there(wanted, parts)
        return Built(
            "",
            wanted.stage,
            wanted.partition,
            seconds=0.0 if before is None else float(before.cost.get("seconds", 0)),
            has_tables=before is not None and before.has_tables,
            modules=self._modules(before),
            plan=PERHAPS if perhaps else BUILD,
            reason=perhaps or self.reason(wanted, parts),
            variant=wanted.variant,
            files=wanted.names,
        )

    def _modules(self, before: Manifest | None) -> tuple[str, ...]:
        folder = None if before is None else self.store.folder(before.job)
        return () if before is None or folder is None else modules_of_objects(folder, before.files)

    def _may_be_there(self, wanted: Request, parts: Parts) -> str:
        """What is not known yet and decides whether a job that is in no place here is the one: of a setting
        that is put back, or of another pipeline."""
        if not is_open(parts):
            return ""
        jobs = self.store.index.of_method(parts.method, wanted.partition)
        kept = (self.store.manifest_of(job) for job in jobs)
        return next(filter(None, (reason_to_wait(parts, each, wanted.sources) for each in kept)), "")

    def before(self, wanted: Request) -> Manifest | None:
        """The job that was in the same place when the pipeline was last run."""
        return self.store.manifest_of(self.store.index.in_place(wanted.place))

    def reason(self, wanted: Request, parts: Parts) -> str:
        """Why a job that was not found is built: what differs from the one in its place before."""
        return reason_to_build(self.store, parts, self.before(wanted), wanted.sources)


def reused(found: StoredJob, wanted: Request) -> Built:
    """A job that is there, as the pipeline sees it."""
    return Built(
        found.job,
        wanted.stage,
        wanted.partition,
        found.path,
        seconds=found.seconds,
        content=found.content,
        rejected=found.rejected,
        has_tables=found.has_tables,
        modules=found.modules,
        plan=REUSE,
        reason=f"{DECLARED}: {found.harmless}" if found.harmless else "",
        incomplete=found.incomplete,
        variant=wanted.variant,
        files=wanted.names,
    )
