"""``shortloop gc``: delete jobs that no latest run uses."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from contextlib import nullcontext

from shortloop.base.errors import InputError
from shortloop.base.text import amount, counted, duration
from shortloop.cli.lookup.jobs import entry_fields
from shortloop.cli.output import parse_age, parse_size, print_json, print_lines, print_table
from shortloop.store.store import Store
from shortloop.store.workdir import is_gone
from shortloop.upkeep.deletion import (
    Partial,
    delete,
    idle_project,
    old_parts,
    pipelines_of,
    recent_checkpoints,
    to_delete,
)
from shortloop.upkeep.inventory import STATES, Entry, inventory


def collect_garbage(
    really: bool, older: str | None, to: str | None, settings: str | None, as_json: bool = False
) -> None:
    """Delete superseded jobs as old as `older`, until the rest fits into `to`, or print which would be."""
    age = None if older is None else parse_age(older)
    size = None if to is None else parse_size(to)
    with idle_project() if really else nullcontext(), Store() as store:
        forgotten = pipelines_of(store, settings) if settings is not None else ()
        entries, names = inventory(store, without=forgotten), store.index.settings_names()
        chosen = to_delete(entries, age, size)
        freed, parts = sum(each.size for each in chosen), old_parts(age)
        unreadable = [each.job for each in entries if each.state == "unreadable"]
        if really and unreadable:
            problem = "nothing was deleted: some jobs cannot be read, so their inputs are unknown"
            hint = "run the command as the project's owner"
            raise InputError(problem, found=", ".join(unreadable), hint=hint)
        if not as_json:
            _print(chosen)
        if really:
            for each in forgotten:
                store.index.finish_pipeline(each.pipeline, (), each.project)
            freed = delete(store, chosen, age)
    needed = [each for each in entries if each.state in ("current", "needed")]
    kept = sorted(Counter(of for each in needed for of in each.pipelines if of.project).items())
    total = sum(each.size for each in entries) + sum(size for _, size in parts)
    parts = [] if really else parts
    if as_json:
        print_json(
            jobs=[entry_fields(each) for each in chosen],
            deleted=really,
            bytes=freed,
            bytes_left=total - freed,
            jobs_left=len(entries) - len(chosen),
            unfinished_files=len(parts),
            kept_for=[{**of._asdict(), "jobs": jobs, "gone": is_gone(of.project)} for of, jobs in kept],
        )
        return
    left = amount(total - freed)
    if really:
        print_lines(f"deleted {counted(len(chosen), 'job')}: {amount(freed)} freed, {left} left")
    else:
        share = f"{amount(freed)} of {amount(total)}"
        print_lines(f"{len(chosen)} of {counted(len(entries), 'job')} would be deleted: {share}")
    if size is not None and total - freed > size:
        print_lines(f"{left} are in use or too recent: more than {amount(size)}")
    _print_parts(parts, 0 if age is not None else recent_checkpoints())
    for of, jobs in kept:
        print_lines(f"{counted(jobs, 'job')} kept for {of}")
        if is_gone(of.project):
            release = f"--forget {names.get(of, of.pipeline)} releases its jobs"
            print_lines(f"  this project is gone or uses other workdirs now: {release}")
    if (chosen or parts) and not really:
        print_lines("nothing was deleted; add --delete to delete")


def _print_parts(parts: list[Partial], resumable: int) -> None:
    if parts:
        print_lines(f"and {counted(len(parts), 'temporary part')}: {amount(sum(size for _, size in parts))}")
    if resumable:
        print_lines(
            f"{amount(resumable)} to resume interrupted jobs are kept for a day; --older 0s deletes them"
        )


def _print(chosen: list[Entry]) -> None:
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for each in chosen:
        groups[each.state, each.stage].append(each)
    rows = []
    for (state, stage), group in sorted(groups.items()):
        ages = [time.time() - each.made for each in group]
        size = amount(sum(each.size for each in group))
        rows.append((state, stage, str(len(group)), size, duration(min(ages)), duration(max(ages))))
    if rows:
        numbers = ("jobs", "size", "youngest", "oldest")
        print_table(("state", "stage", *numbers), rows, right=numbers)
    if any(each.state == "outdated" for each in chosen):
        print_lines(f"outdated: {STATES['outdated']}")
