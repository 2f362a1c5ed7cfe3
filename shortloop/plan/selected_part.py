"""Apply a selection to a plan: the part of a pipeline that a run builds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from shortloop.base.errors import InputError
from shortloop.base.text import short_list
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, TAKE, Built
from shortloop.plan.planner import Planner
from shortloop.plan.selection import Selection
from shortloop.store.index import Index
from shortloop.store.loaded import open_any

ASKED = "you asked for it"  # reason of a forced rebuild
LISTED = 12  # names in a message


@dataclass(frozen=True)
class Part:
    """Selected jobs of a pipeline, by the order in which it requests them, from 0."""

    selection: Selection = field(default_factory=Selection)
    jobs: tuple[Built, ...] = ()  # all planned jobs of the pipeline
    chosen: frozenset[int] = frozenset()  # numbers of the selected jobs
    forced: frozenset[int] = frozenset()  # numbers of the jobs to rebuild
    is_open: bool = False  # True if more jobs may follow

    @property
    def is_whole(self) -> bool:
        return not self.selection.stage

    @property
    def plan(self) -> list[Built]:
        return [job for number, job in enumerate(self.jobs) if self.is_whole or number in self.chosen]

    def has(self, number: int, stage: str, partition: str | None) -> bool:
        if self.is_whole:
            return True
        planned = self.jobs[number] if number < len(self.jobs) else None
        if planned is None and self.is_open:
            return False
        if planned is None or (planned.stage, planned.partition) != (stage, partition):
            raise InputError(
                "the pipeline requests other jobs than when it was planned, so no part of it can be selected",
                found=Built("", stage, partition).name,
                expected="no further job" if planned is None else planned.name,
                hint=f"run the whole pipeline, without {self.selection.words}",
            )
        return number in self.chosen


def choose(selection: Selection, plan: Planner, index: Index) -> Part:
    if not selection.words:
        return Part(selection, tuple(plan.jobs))
    numbers = {id(job): number for number, job in enumerate(plan.jobs)}
    sources = [{numbers[id(job)] for job in each.above() if id(job) in numbers} for each in plan.requests]
    meant = _meant(selection, plan)
    chosen = meant if selection.only else meant | _above(meant, sources)
    forced = {number for each in selection.force for number in _forced(each, plan, index, chosen)}
    if selection.only and not plan.unread:  # else it shows when their files are read
        require_inputs(selection, [plan.jobs[number] for number in sorted(_above(meant, sources) - meant)])
    jobs = _with_forced(plan.jobs, forced, sources)
    return Part(selection, tuple(jobs), frozenset(chosen), frozenset(forced), plan.waits_for is not None)


def require_inputs(selection: Selection, above: Sequence[Built]) -> None:
    """Refuse to build jobs alone if an input is missing, or was rejected."""
    for job in above:
        if job.rejected:
            raise InputError(str(open_any(job.path).problem))
    if missing := [job.name for job in above if not job.content]:
        problem = f"the inputs of {selection.only} are missing or out of date"
        hint = f"use `--until {selection.only}` instead of `--only {selection.only}` to build them too"
        raise InputError(problem, found=f"missing: {short_list(missing, LISTED)}", hint=hint)


def _above(jobs: Iterable[int], sources: Sequence[set[int]]) -> set[int]:
    """Inputs of jobs, transitively."""
    found: set[int] = set()
    waiting = list(jobs)
    while waiting:
        new = sources[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _meant(selection: Selection, plan: Planner) -> set[int]:
    jobs = plan.jobs
    if not selection.stage:
        return set(range(len(jobs)))
    of_stage = {number for number, job in enumerate(jobs) if job.stage == selection.stage}
    if not of_stage:
        first = plan.waits_for.name if plan.waits_for else None
        wrong = "the pipeline has no such stage"
        field = "--until" if selection.until else "--only"
        wanted = ", ".join(dict.fromkeys(job.stage for job in jobs))
        hint = first and f"later stages depend on the results of {first}: build it first, with --until"
        raise InputError(wrong, field=field, found=selection.stage, expected=wanted, hint=hint)
    if not selection.partition:
        return of_stage
    meant = {number for number in of_stage if jobs[number].partition == selection.partition}
    if not meant:
        partitions = dict.fromkeys(jobs[number].partition for number in sorted(of_stage))
        problem = f"the stage {selection.stage} has no job of this partition"
        expected = ", ".join(each or "none, as its jobs are for all of the data" for each in partitions)
        raise InputError(problem, field="--partition", found=selection.partition, expected=expected)
    return meant


def _forced(wanted: str, plan: Planner, index: Index, chosen: set[int]) -> set[int]:
    """Jobs of a stage, or the one with an id, which may have been in its place before."""
    found = {
        number
        for number, (job, request) in enumerate(zip(plan.jobs, plan.requests, strict=True))
        if wanted in (job.stage, job.job) or index.in_place(request.place) == wanted
    }
    if not found & chosen:
        known = [job.job for number, job in enumerate(plan.jobs) if job.job and number in chosen]
        stages = dict.fromkeys(plan.jobs[number].stage for number in sorted(chosen))
        ids = f"a job of this run ({short_list(known, LISTED)}), or " if known else ""
        problem = "the job is not part of this run" if found else "the pipeline has no such job or stage"
        expected = f"{ids}one of the stages {', '.join(stages)}"
        raise InputError(problem, field="--force", found=wanted, expected=expected)
    return found & chosen


def _with_forced(jobs: Sequence[Built], forced: set[int], sources: Sequence[set[int]]) -> list[Built]:
    """Plan to rebuild jobs that exist, and perhaps those downstream."""
    found = list(jobs)
    for number, job in enumerate(jobs):
        if job.plan not in (REUSE, TAKE):
            continue
        open_ = [found[each].stage for each in sources[number] if found[each].plan not in (REUSE, TAKE)]
        if number in forced:
            found[number] = replace(job, plan=BUILD, reason=ASKED)
        elif open_:
            reason = f"if {' or '.join(sorted(set(open_)))} comes out different"
            found[number] = replace(job, plan=PERHAPS, reason=reason)
    return found
