"""``shortloop jobs``: list jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from shortloop.base.errors import InputError
from shortloop.base.text import amount, counted, duration
from shortloop.cli.output import moment, parse_age, parse_size, print_json, print_lines, print_table
from shortloop.store.index import Purpose
from shortloop.store.store import Store
from shortloop.upkeep.inventory import STATES, Entry, inventory

ORDERS = {
    "id": lambda each: (each.job.rpartition("-")[0], int(each.job.rpartition("-")[2])),
    "made": lambda each: each.made,
    "seconds": lambda each: each.seconds,
    "size": lambda each: each.size,
    "stage": lambda each: (each.stage, each.partition),
    "partition": lambda each: (each.partition, each.stage),
}
STYLES = {"current": "", "damaged": "red"}
BELOW = ("settings", "made", "seconds", "size")  # columns that move below in a narrow terminal


@dataclass(frozen=True)
class Filter:
    """Conditions of the jobs to list; None is no condition."""

    stage: str | None = None
    partition: str | None = None
    settings: str | None = None
    state: str | None = None
    older: str | None = None  # age, e.g. "2d"
    newer: str | None = None
    larger: str | None = None  # size, e.g. "100MB"
    scripts: bool = False  # include jobs of build scripts

    def apply(self, entries: list[Entry], names: Mapping[Purpose, str]) -> list[Entry]:
        if self.state is not None and self.state not in STATES:
            raise InputError("unknown state", field="--state", found=self.state, expected=", ".join(STATES))
        now = time.time()
        latest = now - parse_age(self.older) if self.older else now
        earliest = now - parse_age(self.newer) if self.newer else 0.0
        smallest = parse_size(self.larger) if self.larger else 0
        return [
            each
            for each in entries
            if earliest <= each.made <= latest
            and each.size >= smallest
            and (self.scripts or not each.script)
            and self.stage in (None, each.stage)
            and self.partition in (None, each.partition)
            and self.state in (None, each.state)
            and (
                self.settings is None
                or any(self.settings in (of.pipeline, names.get(of)) for of in each.pipelines)
            )
        ]


def print_jobs(wanted: Filter, order: str, reverse: bool, as_json: bool = False) -> None:
    if order not in ORDERS:
        raise InputError("unknown sort order", field="--sort", found=order, expected=", ".join(ORDERS))
    with Store() as store:
        names = store.index.settings_names()
        entries = wanted.apply(inventory(store), names)
    entries.sort(key=ORDERS[order], reverse=reverse)
    if as_json:
        jobs = [
            entry_fields(each)
            | {"settings": _settings(each, names), "seconds": each.seconds}
            | {"sources": each.sources, "folder": each.folder}
            for each in entries
        ]
        size = sum(each.size for each in entries)
        print_json(jobs=jobs, seconds=sum(each.seconds for each in entries), bytes=size)
        return
    columns = ("job", "stage", "partition", "settings", "made", "seconds", "size", "state")
    rows = []
    for each in entries:
        made = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.made)) if each.made else "?"
        what = (each.job, each.stage, each.partition, ", ".join(_settings(each, names)))
        rows.append((*what, made, f"{each.seconds:.1f}", amount(each.size), each.state))
    styles = [STYLES.get(each.state, "dim") for each in entries]
    print_table(columns, rows, right=("seconds", "size"), below=BELOW, styles=styles)
    total = amount(sum(each.size for each in entries))
    seconds = duration(sum(each.seconds for each in entries))
    print_lines(f"{counted(len(entries), 'job')}, {total}, {seconds}")


def _settings(each: Entry, names: Mapping[Purpose, str]) -> list[str]:
    named = (of._replace(pipeline=names.get(of, of.pipeline)) for of in each.pipelines)
    return [*dict.fromkeys(map(str, named))]


def entry_fields(each: Entry) -> dict[str, object]:
    """Fields of a job that every list has, for JSON."""
    named = {name: getattr(each, name) for name in ("job", "stage", "state")}
    return {**named, "partition": each.partition or None, "made": moment(each.made), "bytes": each.size}
