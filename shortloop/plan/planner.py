"""Plan of a run: look up its jobs in order, and decide why others must be built."""

from __future__ import annotations

import io
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

from shortloop.keys.file_state import at_one_moment
from shortloop.keys.hashing import digest
from shortloop.keys.key import Parts, with_order
from shortloop.plan.explain.reasons import is_open, is_unread, reason_to_build, reason_to_wait
from shortloop.plan.pipeline import (
    BUILD,
    NO_RESULT,
    PERHAPS,
    REUSE,
    TAKE,
    Built,
    Call,
    NotThereYet,
    Pipeline,
    Run,
    follow,
)
from shortloop.plan.request import Request, named_files, request
from shortloop.stages.inputs import File
from shortloop.store.index import Place
from shortloop.store.inputs import known_content, register
from shortloop.store.manifest import Manifest, StoredJob
from shortloop.store.store import Store


class Planner(Run):
    """Lists the jobs that a pipeline requests, without building any or, unless it `reads`, reading input."""

    def __init__(self, lookup: Lookup, reads: bool = False) -> None:
        super().__init__(lookup.pipeline)
        self.lookup, self._reads = lookup, reads
        self.last: Built | None = None  # the pipeline's result, if it was planned to its end
        self.given: dict[Path, str] = {}  # content of input files; empty: unknown
        self.requests: list[Request] = []  # request for each job
        self.unread = 0  # number of input files of unknown content
        self.waits_for: Built | None = None  # job whose results decide what follows, if they are missing
        self.note = ""  # message at the start of a run

    @property
    def is_there(self) -> bool:
        """True if all jobs exist, and none has a message or must be retried."""
        wanting = (job.plan != REUSE or job.rejected or job.incomplete for job in self.jobs)
        return self.last is not None and not self.unread and not any(wanting)

    @classmethod
    def of(cls, pipeline: Pipeline, store: Store, name: str, reads: bool = False) -> Planner:
        """Plan a pipeline that is run under a name."""
        plan = cls._once(pipeline, store, name, reads)
        began = time.monotonic()
        # Keys below jobs of the shared cache are known when these are. A run asks for the rest itself.
        while store.shared is not None and store.shared.look(plan.lookup.missed):
            if time.monotonic() - began > LONG:
                break
            with redirect_stdout(io.StringIO()):  # printed already
                plan = cls._once(pipeline, store, name, reads)
        return plan

    @classmethod
    def _once(cls, pipeline: Pipeline, store: Store, name: str, reads: bool) -> Planner:
        plan = cls(Lookup(store, name), reads)
        try:
            with at_one_moment():
                plan.last = follow(pipeline, plan)
        except NotThereYet as error:
            plan.waits_for = error.job
        return plan

    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        """Look up a job, and note what would be done."""
        wanted = self.lookup.request(stage, partition, call)
        self.jobs.append(self.lookup.look(wanted))
        self.requests.append(wanted)
        return self.jobs[-1]

    def files(self, paths: Sequence[Path]) -> list[File]:
        """Register input files, with their content as far as known."""
        paths = self.placed(paths)
        found = register(paths) if self._reads else known_content(paths)
        self.given |= zip(paths, found, strict=True)
        self.unread += found.count("")
        return named_files(found, paths, self.addresses)


RETRIED = "its failed units are retried"
TAKEN = "from the shared cache"
LONG = 10.0  # s of planning again
DECLARED = "declared harmless"  # prefix of the reason to use a job whose code changed


class Lookup:
    """Looks up the jobs that a run requests."""

    def __init__(self, store: Store, pipeline: str) -> None:
        self.store = store
        self.pipeline = pipeline
        self.missed: list[str] = []  # keys that no job here has
        self.places: dict[Place, str] = {}  # id of the job found or built for each place
        self._seen: dict[Place, int] = {}
        self._by_options: dict[tuple[str, str | None, frozenset[str]], dict[str, list[str]]] = {}

    def request(self, stage: str, partition: str | None, call: Call) -> Request:
        """Sort the arguments of a request."""
        return request(self.pipeline, stage, partition, call, self._seen)

    def find(self, wanted: Request, parts: Parts) -> Built | None:
        """Find an intact job with the key of a request."""
        if not all(job.content for job in wanted.above()):
            return None
        if (found := self.store.find(parts.key())) is None:
            return None
        self.places[wanted.place] = found.job
        return reused(found, wanted)

    def look(self, wanted: Request) -> Built:
        """Plan a job: the existing one, or what would be done."""
        parts = wanted.parts()
        if (found := self.find(wanted, parts)) is not None:
            return replace(found, reason=RETRIED) if found.incomplete and not found.reason else found
        if (shared := self._shared(wanted, parts)) is not None:
            return shared
        before = self.before(wanted)
        perhaps = reason_to_wait(parts, before, wanted.sources) or self._may_be_there(wanted, parts)
        folder = None if before is None else self.store.folder(before.job)
        planned = Built(
            "",
            wanted.stage,
            wanted.partition,
            plan=PERHAPS if perhaps else BUILD,
            reason=perhaps or self.reason(wanted, parts),
            variant=wanted.variant,
            files=wanted.names,
        )
        if before is None or folder is None:
            return planned
        like = StoredJob.from_manifest(folder, before)
        return replace(planned, seconds=like.seconds, has_tables=like.has_tables, modules=like.modules)

    def _shared(self, wanted: Request, parts: Parts) -> Built | None:
        """Plan to take a job from the shared cache, as far as that was asked for it."""
        cache = self.store.shared
        if cache is None or is_open(parts) or not all(job.content for job in wanted.above()):
            return None
        if (found := cache.known(parts.key())) is None:
            self.missed.append(parts.key())
            return None
        there = reused(StoredJob.from_manifest(NO_RESULT, found), wanted)
        return replace(there, job="", plan=TAKE, reason=TAKEN)

    def _may_be_there(self, wanted: Request, parts: Parts) -> str:
        """Say what decides if a job exists that has no place here: of old settings, or another pipeline."""
        if not is_open(parts):
            return ""
        unread = frozenset(name for name, value in parts.options.items() if is_unread(value))
        jobs = self._alike(parts.method, wanted.partition, unread).get(options_digest(parts, unread), ())
        kept = (self.store.manifest_of(job) for job in jobs)
        return next(filter(None, (reason_to_wait(parts, each, wanted.sources) for each in kept)), "")

    def _alike(self, method: str, partition: str | None, but: frozenset[str]) -> Mapping[str, list[str]]:
        """Jobs by their options, but for some, the newest first: read once, however many are planned."""
        found = self._by_options.get((method, partition, but))
        if found is None:
            found = self._by_options[method, partition, but] = {}
            for job in self.store.index.of_method(method, partition):
                if (manifest := self.store.manifest_of(job)) is not None:
                    found.setdefault(options_digest(manifest.parts, but), []).append(job)
        return found

    def before(self, wanted: Request) -> Manifest | None:
        return self.store.manifest_of(self.store.index.in_place(wanted.place))

    def reason(self, wanted: Request, parts: Parts) -> str:
        return reason_to_build(self.store, parts, self.before(wanted), wanted.sources)


def options_digest(parts: Parts, but: Collection[str]) -> str:
    return digest(with_order({name: value for name, value in parts.options.items() if name not in but}))


def reused(found: StoredJob, wanted: Request) -> Built:
    """The existing job that a request asks for."""
    made = existing(found, wanted.stage, wanted.partition)
    reason = f"{DECLARED}: {found.harmless}" if found.harmless else ""
    incomplete = found.incomplete
    return replace(made, reason=reason, incomplete=incomplete, variant=wanted.variant, files=wanted.names)


def existing(found: StoredJob, stage: str, partition: str | None) -> Built:
    """An existing job, as the pipeline sees it."""
    names = ("seconds", "content", "rejected", "has_tables", "modules")
    facts: Any = {name: getattr(found, name) for name in names}
    return Built(found.job, stage, partition, found.path, plan=REUSE, **facts)
