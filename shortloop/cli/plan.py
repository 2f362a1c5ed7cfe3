"""``shortloop plan``: what a run would build and reuse, and how long that would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shortloop.cli.tables import counted, duration, print_lines, print_table
from shortloop.jobs.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.jobs.planner import Planner

__all__ = ["print_plan"]

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
        print_table(
            ("plan", "stage", "partition", "job", "reason"),
            [(job.plan, job.stage, job.partition or "", job.job, job.reason) for job in plan.jobs],
        )
        print_lines("")
    rows = []
    for stage in dict.fromkeys(job.stage for job in plan.jobs):
        jobs = [job for job in plan.jobs if job.stage == stage]
        number = Counter(job.plan for job in jobs)
        counts = [str(number[what] or "") for what in (REUSE, BUILD, PERHAPS)]
        rows.append((stage, *counts, _expected(jobs, means)))
    columns = ("reuse", "build", "perhaps", "expected")
    print_table(("stage", *columns), rows, right=columns)
    reasons = Counter((job.stage, job.plan, job.reason) for job in plan.jobs if job.reason)
    print_lines(
        "",
        *(
            f"{BEGINS.get(what, '')}{number} × {stage}: {reason}"
            for (stage, what, reason), number in reasons.items()
        ),
        _summary(plan.jobs, means),
    )
    if plan.waits_for is not None:
        print_lines(f"what comes after is not known: the pipeline asks for results of {plan.waits_for.name}")
    if plan.note:
        print_lines(plan.note)
    if plan.unread:
        print_lines(f"files that are new or changed, and not read yet: {plan.unread}; a run reads them first")


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
