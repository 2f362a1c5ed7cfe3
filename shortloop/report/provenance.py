"""Provenance of numbers: their jobs, and the table rows that name them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shortloop.base.plain import Plain
from shortloop.stages.results import Result, upstream

__all__ = [
    "ProvenanceRow",
    "Source",
    "flat",
    "provenance_rows",
    "shown",
    "source_of",
    "thread_note",
    "upstream",
]

SHOWN_APART = ("partition", "modules")


@dataclass(frozen=True)
class Source:
    """One job that numbers went through.

    job: id of the job.
    stage: name of the stage, e.g. ``"train"``.
    partition: the part of the data that it is for; empty: all.
    sibling: what tells the stage from others of its name in one report; empty if there is no other.
    options: options of the job.
    versions: versions of the libraries that it ran with.
    """

    job: str
    stage: str
    partition: str
    sibling: str
    options: dict[str, Plain]
    versions: dict[str, str]


class ProvenanceRow(NamedTuple):
    """Jobs that share a stage, its options and its versions.

    stage: name of the stage, with what tells it from its siblings.
    jobs: partition and job id of each.
    options, versions: names and texts.
    """

    stage: str
    jobs: list[tuple[str, str]]
    options: list[tuple[str, str]]
    versions: list[tuple[str, str]]


def source_of(result: Result, sibling: str = "") -> Source:
    """A job as a source of numbers."""
    return Source(
        job=result.job,
        stage=result.stage,
        partition=result.partition or "",
        sibling=sibling,
        options={name: each for name, each in result.options.items() if name not in SHOWN_APART},
        versions=dict(result.record["versions"]),
    )


def thread_note(results: Iterable[Result]) -> str:
    """How many threads the work used, in a sentence."""
    used = [pool["threads_used"] for result in results for pool in result.record["threads"]]
    widest = max(used, default=1)
    return f"Every process used {widest} thread for linear algebra, as checked where the work ran."


def provenance_rows(sources: Iterable[Source]) -> tuple[ProvenanceRow, ...]:
    """Jobs that share a stage, its options and its versions, in one row."""
    rows: dict[str, ProvenanceRow] = {}
    for source in sources:
        options = [
            (name, text) for name, text in flat(source.options) if not (text and text == source.partition)
        ]
        versions = sorted((name, str(version)) for name, version in source.versions.items())
        key = json.dumps([source.stage, source.sibling, options, versions])
        stage = source.stage
        if source.sibling not in ("", stage):
            stage = f"{stage}, {source.sibling}"
        row = rows.setdefault(key, ProvenanceRow(stage, [], options, versions))
        row.jobs.append((source.partition, source.job))
    return tuple(rows.values())


def flat(settings: Mapping[str, Plain], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as pairs of dotted name and text."""
    pairs: list[tuple[str, str]] = []
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            pairs += flat(value, f"{prefix}{name}.")
        else:
            pairs.append((f"{prefix}{name}", shown(value)))
    return pairs


def shown(value: Plain) -> str:
    """A setting as a reader would write it."""
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value) if value else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
