"""Declare a change of code or versions harmless, so that jobs stay current."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from shortloop.base.errors import InputError
from shortloop.base.text import short_list
from shortloop.exax.listener import slices_now
from shortloop.plan.dry_run import dry_run
from shortloop.plan.explain.reasons import Difference, differences, reason_to_build
from shortloop.plan.pipeline import REUSE, Built
from shortloop.plan.request import Request
from shortloop.store.manifest import Harmless, StoredJob
from shortloop.store.store import Store, declare
from shortloop.store.workdir import only_run

LISTED = 6  # jobs in a message


@dataclass(frozen=True)
class Declared:
    jobs: list[tuple[str, Harmless]] = field(default_factory=list)  # current from now on
    there: int = 0  # how many jobs of the stage were current before
    left: list[str] = field(default_factory=list)  # jobs that still need a rebuild, and why


def declare_harmless(script: str, stage: str, why: str) -> Declared:
    """Declare a change of code or versions harmless for the jobs of a stage, which then stay current."""
    if not why.strip():
        hint = "add a few words after the stage"
        raise InputError("a declaration needs a reason", found=repr(why), hint=hint)
    with only_run("declaring a change harmless", wait=False):
        plans = dry_run(script, reads=True).plans
        every = [each for plan in plans for each in zip(plan.jobs, plan.requests, strict=True)]
        if not (asked := [each for each in every if each[0].stage == stage]):
            stages = dict.fromkeys(job.stage for job, _ in every)
            raise InputError("the pipeline has no such stage", found=stage, expected=", ".join(stages))
        with Store(slices_now) as store:
            if not store.index.kept:
                problem = "nothing can be declared: the project is read-only for you"
                raise InputError(problem, hint="run the command as the project's owner")
            return _declare(store, stage, asked, " ".join(why.split()))


def _declare(store: Store, stage: str, asked: Sequence[tuple[Built, Request]], why: str) -> Declared:
    done = Declared(there=sum(job.plan == REUSE for job, _ in asked))
    refused: list[str] = []
    meant: list[tuple[StoredJob, Harmless]] = []
    for job, wanted in asked:
        if job.plan == REUSE:
            continue
        name = f"{stage} {wanted.partition or ''}".strip()
        parts, before = wanted.parts(), store.manifest_of(store.index.in_place(wanted.place))
        if before is None:
            done.left.append(f"{name}: no earlier job of it is known")
            continue
        if before.parts.method != parts.method:
            refused.append(f"{name}: its method was {before.parts.method}, and is {parts.method}")
            continue
        others = [each for each in differences(before.parts, parts) if each.kind not in ("code", "version")]
        if others:
            refused.append(f"{name}: {short_list([_words(each, wanted) for each in others])}")
            continue
        found = store.by_id(before.job)
        what = reason_to_build(store, parts, before, wanted.sources)
        if found is None:
            gone = store.damaged.get(before.key)
            done.left.append(f"{name}: {before.job} {f'was damaged: {gone[1]}' if gone else 'is gone'}")
            continue
        now = parts.installed(before.parts.libraries)
        meant.append((found, Harmless.between(before.parts, now, why, what)))
    if refused:
        raise InputError(
            "options or inputs changed too, not only code and versions",
            found=short_list(refused, LISTED, separator="; "),
            expected="jobs with the same options and inputs",
            hint="build these first, e.g. with `shortloop run --until STAGE --partition PARTITION`; of "
            "several stages, declare the one above first",
        )
    if not meant:
        problem = f"no job of {stage} needs a rebuild because of code or versions"
        hint = "`shortloop plan` shows which jobs would be built, and why"
        raise InputError(problem, found="; ".join([f"{done.there} are there", *done.left]), hint=hint)
    for found, harmless in meant:
        declare(store, found, harmless)
        done.jobs.append((found.job, harmless))
    return done


def _words(each: Difference, wanted: Request) -> str:
    waits = dict.fromkeys(job.stage for job in wanted.above() if not job.content)
    is_open = each.kind == "input" and None not in (each.old, each.new) and waits
    return f"{' and '.join(waits)} would be built first" if is_open else each.words()
