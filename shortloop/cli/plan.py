"""``shortloop plan`` and ``shortloop harmless``: preview a run, and declare a change harmless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from shortloop.base.text import counted, duration, short_list
from shortloop.cli.output import print_json, print_lines, print_table
from shortloop.plan.harmless import declare_harmless
from shortloop.plan.pipeline import BUILD, PERHAPS, REUSE, Built
from shortloop.plan.planner import Planner

VARIANT = 3  # column of a job's model and the like, omitted if no job has one
BEGINS = {PERHAPS: "perhaps ", REUSE: "reused "}


def print_plan(script: str, every: bool, as_json: bool = False) -> None:
    from shortloop.plan.dry_run import dry_run

    planned = dry_run(script)
    if as_json:
        print_json(script=script, plans=[_fields(plan, planned.seconds) for plan in planned.plans])
        return
    for plan in planned.plans:
        _print(plan, planned.seconds, every)


def print_harmless(script: str, stage: str, why: str) -> None:
    done = declare_harmless(script, stage, why)
    changes = Counter(harmless.what for _, harmless in done.jobs)
    print_lines(*(f"{number} × {stage}: {what}" for what, number in changes.items()))
    there = f"; {done.there} already current" if done.there else ""
    print_lines(f"{counted(len(done.jobs), 'job')} declared current and will not be rebuilt{there}")
    print_lines(*(f"still to be built: {each}" for each in done.left))


def _print(plan: Planner, means: dict[str, float], every: bool) -> None:
    if every:
        heads = ["plan", "stage", "partition", "variant", "job", "reason"]
        cells = [[getattr(job, name) or "" for name in heads] for job in plan.jobs]
        if not any(job.variant for job in plan.jobs):
            for row in (heads, *cells):
                del row[VARIANT]
        print_table(heads, cells, below=heads[VARIANT:-2], wrap="reason")
        print_lines("")
    rows = []
    for stage, jobs in _of_stages(plan.jobs):
        number = Counter(job.plan for job in jobs)
        counts = [str(number[what] or "") for what in (REUSE, BUILD, PERHAPS)]
        rows.append((stage, *counts, _expected(jobs, means)))
    columns = ("reuse", "build", "perhaps", "expected")
    print_table(("stage", *columns), rows, right=columns)
    print_lines("", *_reasons(plan.jobs), _summary(plan.jobs, means))
    if plan.waits_for is not None:
        print_lines(f"later jobs are unknown: the pipeline first needs the results of {plan.waits_for.name}")
    if plan.note:
        print_lines(plan.note)
    if plan.unread:
        print_lines(f"{plan.unread} new or changed files not read yet; a run reads them first")


def _reasons(jobs: Sequence[Built]) -> Iterator[str]:
    groups: dict[tuple[str, str, str], list[str]] = {}
    for job in jobs:
        if job.reason:
            groups.setdefault((job.stage, job.plan, job.reason), []).append(job.variant)
    for (stage, what, reason), variants in groups.items():
        named = short_list([*filter(None, dict.fromkeys(variants))])
        yield f"{BEGINS.get(what, '')}{len(variants)} × {stage}{f' ({named})' if named else ''}: {reason}"


def _summary(jobs: Sequence[Built], means: dict[str, float]) -> str:
    number = Counter(job.plan for job in jobs)
    if number[REUSE] == len(jobs):
        failed = sum(job.incomplete for job in jobs)
        retried = f"; failed units of {failed} would be computed again"
        return f"all {len(jobs)} jobs are cached{retried if failed else ': nothing would be built'}"
    perhaps = f", {number[PERHAPS]} perhaps" if number[PERHAPS] else ""
    text = f"{counted(number[BUILD], 'job')} would be built{perhaps}, {number[REUSE]} reused"
    if (expected := _expected(jobs, means)) != "?":
        text += f": {expected}"
    unknown = sorted({job.stage for job in jobs if job.plan != REUSE and _seconds(job, means) is None})
    return f"{text}; no earlier job tells how long {', '.join(unknown)} will take" if unknown else text


def _expected(jobs: Sequence[Built], means: dict[str, float]) -> str:
    """Expected time: the least if all results stay the same, and the most if all change."""
    least, most = _range(jobs, means)
    if least is None or most is None:
        return "?" if any(job.plan != REUSE for job in jobs) else ""
    return duration(least) if least == most else f"{duration(least)} to {duration(most)}"


def _range(jobs: Sequence[Built], means: dict[str, float]) -> tuple[float, float] | tuple[None, None]:
    """Least and most seconds; None if no earlier job tells."""
    known = [(job.plan, seconds) for job in jobs if (seconds := _seconds(job, means)) is not None]
    least, more = ([seconds for plan, seconds in known if plan == what] for what in (BUILD, PERHAPS))
    return (sum(least), sum(least) + sum(more)) if least or more else (None, None)


def _of_stages(jobs: Sequence[Built]) -> list[tuple[str, list[Built]]]:
    stages = dict.fromkeys(job.stage for job in jobs)
    return [(stage, [job for job in jobs if job.stage == stage]) for stage in stages]


def _fields(plan: Planner, means: dict[str, float]) -> dict[str, object]:
    return {
        "pipeline": plan.name,
        **_counts(plan.jobs, means),
        "stages": [{"stage": stage, **_counts(jobs, means)} for stage, jobs in _of_stages(plan.jobs)],
        "jobs": [
            {name: getattr(job, name) or None for name in ("plan", "stage", "partition", "variant", "job")}
            | {"reason": job.reason, "seconds": None if job.plan == REUSE else _seconds(job, means)}
            for job in plan.jobs
        ],
        "waits_for": plan.waits_for.name if plan.waits_for else None,
        "note": plan.note or None,
        "unread_files": plan.unread,
    }


def _counts(jobs: Sequence[Built], means: dict[str, float]) -> dict[str, object]:
    number = Counter(job.plan for job in jobs)
    seconds = dict(zip(("least_seconds", "most_seconds"), _range(jobs, means), strict=True))
    return {**{what: number[what] for what in (REUSE, BUILD, PERHAPS)}, **seconds}


def _seconds(job: Built, means: dict[str, float]) -> float | None:
    """Duration of the job in its place, else the mean of its stage."""
    return job.seconds or means.get(job.stage)
