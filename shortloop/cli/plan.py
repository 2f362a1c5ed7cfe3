"""``shortloop plan``: what a run would build and reuse, and how long that would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from shortloop.cli.tables import counted, duration, print_lines, print_table
from shortloop.jobs.explain.phrases import short_list
from shortloop.jobs.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.jobs.planner import Planner

__all__ = ["print_plan"]

VARIANT = 3
"""Column that says which model, and the like; left out where no job has one."""
BEGINS = {PERHAPS: "perhaps ", REUSE: "reused "}


def print_plan(script: str, every: bool) -> None:
    """Print what a run of a build script would do. Nothing is run, and no server is needed.

    Parameters
    ----------
    script : str
        Its name.
    every : bool
        Whether to list each job.

    Raises
    ------
    InputError
        If it cannot be planned.
    """
    from shortloop.jobs.dry_run import dry_run

    planned = dry_run(script)
    for plan in planned.plans:
        _print(plan, planned.seconds, every)


def _print(plan: Planner, means: dict[str, float], every: bool) -> None:
    if every:
        _print_jobs(plan.jobs)
    rows = []
    for stage in dict.fromkeys(job.stage for job in plan.jobs):
        jobs = [job for job in plan.jobs if job.stage == stage]
        number = Counter(job.plan for job in jobs)
        counts = [str(number[what] or "") for what in (REUSE, BUILD, PERHAPS)]
        rows.append((stage, *counts, _expected(jobs, means)))
    columns = ("reuse", "build", "perhaps", "expected")
    print_table(("stage", *columns), rows, right=columns)
    print_lines("", *_reasons(plan.jobs), _summary(plan.jobs, means))
    if plan.waits_for is not None:
        print_lines(f"what comes after is not known: the pipeline asks for results of {plan.waits_for.name}")
    if plan.note:
        print_lines(plan.note)
    if plan.unread:
        print_lines(f"files that are new or changed, and not read yet: {plan.unread}; a run reads them first")


def _print_jobs(jobs: Sequence[Built]) -> None:
    columns = ["plan", "stage", "partition", "variant", "job", "reason"]
    rows = [[job.plan, job.stage, job.partition or "", job.variant, job.job, job.reason] for job in jobs]
    if not any(job.variant for job in jobs):
        for row in (columns, *rows):
            del row[VARIANT]
    print_table(columns, rows)
    print_lines("")


def _reasons(jobs: Sequence[Built]) -> Iterator[str]:
    alike: dict[tuple[str, str, str], list[str]] = {}
    for job in jobs:
        if job.reason:
            alike.setdefault((job.stage, job.plan, job.reason), []).append(job.variant)
    for (stage, what, reason), variants in alike.items():
        named = short_list([*filter(None, dict.fromkeys(variants))])
        yield f"{BEGINS.get(what, '')}{len(variants)} × {stage}{f' ({named})' if named else ''}: {reason}"


def _summary(jobs: Sequence[Built], means: dict[str, float]) -> str:
    number = Counter(job.plan for job in jobs)
    if number[REUSE] == len(jobs):
        return f"all {len(jobs)} jobs are there: nothing would be built"
    perhaps = f", {number[PERHAPS]} perhaps" if number[PERHAPS] else ""
    text = f"{counted(number[BUILD], 'job')} would be built{perhaps}, {number[REUSE]} reused"
    expected = _expected(jobs, means)
    if expected != "?":
        text += f": {expected}"
    unknown = sorted({job.stage for job in jobs if job.plan != REUSE and _seconds(job, means) is None})
    return f"{text}; no earlier job says how long {', '.join(unknown)} takes" if unknown else text


def _expected(jobs: Sequence[Built], means: dict[str, float]) -> str:
    """Seconds, from those if nothing comes out different to those if everything does."""
    seconds = {what: [_seconds(job, means) for job in jobs if job.plan == what] for what in (BUILD, PERHAPS)}
    known = {what: [each for each in found if each is not None] for what, found in seconds.items()}
    if not known[BUILD] + known[PERHAPS]:
        return "?" if seconds[BUILD] + seconds[PERHAPS] else ""
    least, most = sum(known[BUILD]), sum(known[BUILD] + known[PERHAPS])
    return duration(least) if least == most else f"{duration(least)} to {duration(most)}"


def _seconds(job: Built, means: dict[str, float]) -> float | None:
    """How long the job in its place took, else jobs of its stage."""
    return job.seconds or means.get(job.stage)
