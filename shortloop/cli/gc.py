"""``shortloop gc``: deleting what nobody needs any more."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping

from shortloop.cli.tables import ago, amount, counted, parse_age, parse_size, print_lines, print_table
from shortloop.errors import InputError
from shortloop.jobs.store.places import Purpose
from shortloop.jobs.store.store import Store
from shortloop.jobs.store.workdir import is_gone
from shortloop.upkeep.deletion import delete, idle_project, old_parts, pipelines_of, to_delete
from shortloop.upkeep.inventory import STATES, Entry, inventory

__all__ = ["collect_garbage"]


def collect_garbage(really: bool, older: str | None, to: str | None, settings: str | None) -> None:
    """Delete superseded jobs, or say which would be. What other projects that use the workdirs need is kept.

    Parameters
    ----------
    really : bool
        Whether to delete them.
    older : str or None
        Only those at least this old, e.g. ``"30d"``.
    to : str or None
        Only as many as it takes until all jobs fit into this, e.g. ``"20GB"``.
    settings : str or None
        Name of settings whose last run is needed no more: of this project, or of one that is gone.

    Raises
    ------
    InputError
        If a run is in progress, or what is asked for makes no sense.
    """
    age = None if older is None else parse_age(older)
    size = None if to is None else parse_size(to)
    if really:
        with idle_project(), Store() as store:
            for each in pipelines_of(store, settings) if settings is not None else ():
                store.index.ended(each.pipeline, (), each.project)
            entries = inventory(store)
            _refuse_unreadable(entries)
            chosen = to_delete(entries, age, size)
            _print(chosen)
            freed = delete(store, chosen)
            total = sum(each.size for each in entries)
            names = store.index.settings_names()
            print_lines(
                f"deleted {counted(len(chosen), 'job')}: {amount(freed)} freed, {amount(total - freed)} left"
            )
            _say_if_too_much(total - freed, size)
        _say_whose(entries, names)
        return
    with Store() as store:
        entries = inventory(store, without=pipelines_of(store, settings) if settings is not None else ())
        names = store.index.settings_names()
    chosen = to_delete(entries, age, size)
    _print(chosen)
    total, gone = sum(each.size for each in entries), sum(each.size for each in chosen)
    print_lines(
        f"{len(chosen)} of {counted(len(entries), 'job')} would go: {amount(gone)} of {amount(total)}"
    )
    if old_parts():
        print_lines(f"and {len(old_parts())} files that were begun and never finished")
    _say_if_too_much(total - gone, size)
    _say_whose(entries, names)
    if chosen:
        print_lines("nothing is deleted yet: --delete does it")


def _refuse_unreadable(entries: list[Entry]) -> None:
    unreadable = [each.job for each in entries if each.state == "unreadable"]
    if unreadable:
        raise InputError(
            "nothing is deleted, as what some jobs were made from is not known: they may not be read here",
            found=", ".join(unreadable),
            hint="delete as the owner of the project",
        )


def _print(chosen: list[Entry]) -> None:
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for each in chosen:
        groups[each.state, each.stage].append(each)
    now = time.time()
    rows = [
        (
            state,
            stage,
            str(len(group)),
            amount(sum(each.size for each in group)),
            ago(now - max(each.made for each in group)),
            ago(now - min(each.made for each in group)),
        )
        for (state, stage), group in sorted(groups.items())
    ]
    if rows:
        numbers = ("jobs", "size", "youngest", "oldest")
        print_table(("state", "stage", *numbers), rows, right=numbers)
    if any(each.state == "outdated" for each in chosen):
        print_lines(f"outdated: {STATES['outdated']}")


def _say_if_too_much(left: int, size: int | None) -> None:
    if size is not None and left > size:
        print_lines(f"{amount(left)} are in use or younger: that is more than {amount(size)}")


def _say_whose(entries: list[Entry], names: Mapping[Purpose, str]) -> None:
    """Which jobs are kept for other projects that use the workdirs."""
    kept = [each for each in entries if each.state in ("current", "needed")]
    number = Counter(of for each in kept for of in each.pipelines if of.project)
    for of, jobs in sorted(number.items()):
        print_lines(f"{counted(jobs, 'job')} kept for {of}")
        if is_gone(of.project):
            name = names.get(of, of.pipeline)
            print_lines(f"  it is gone, or has other workdirs now: --forget {name} lets go of them")
