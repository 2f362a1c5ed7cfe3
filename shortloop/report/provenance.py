"""Provenance of numbers: their jobs, the table rows that name these, and links to exax's board."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shortloop.base.plain import Plain
from shortloop.stages.results import Result

ADDRESS = "http://localhost:8520"
"""Default address of ``ax board-server``. The board has no access control, so it must not listen where others
can reach it; ``ax server`` itself listens on a socket, which browsers cannot open."""
SHOWN_APART = ("partition", "modules")


@dataclass(frozen=True)
class Source:
    """A job that numbers come from."""

    job: str  # its id
    stage: str
    partition: str  # empty: all of the data
    sibling: str  # tells the stage from others of its name in one report; empty if there is no other
    options: dict[str, Plain]
    versions: dict[str, str]


class ProvenanceRow(NamedTuple):
    """Jobs that share a stage, its options and its versions."""

    stage: str  # with the sibling
    jobs: list[tuple[str, str]]  # partition and id of each
    options: list[tuple[str, str]]
    versions: list[tuple[str, str]]


class BoardLink(NamedTuple):
    """A link to a job on the board; `text` says what else is shown there, and when."""

    job: str
    partition: str
    address: str
    text: str


def source_of(result: Result, sibling: str = "") -> Source:
    """Return a job as a source of numbers."""
    return Source(
        job=result.job,
        stage=result.stage,
        partition=result.partition or "",
        sibling=sibling,
        options={name: each for name, each in result.options.items() if name not in SHOWN_APART},
        versions=dict(result.record["versions"]),
    )


def thread_note(results: Iterable[Result]) -> str:
    """Say how many threads the work used."""
    used = [pool["threads_used"] for result in results for pool in result.record["threads"]]
    most = max(used, default=1)
    count = "Every process used 1 thread" if most == 1 else f"Processes used up to {most} threads"
    return f"{count} for linear algebra, as checked where the work ran."


def provenance_rows(sources: Iterable[Source]) -> tuple[ProvenanceRow, ...]:
    """Group jobs that share a stage, its options and its versions."""
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
    """Return nested settings as pairs of dotted name and text."""
    pairs: list[tuple[str, str]] = []
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            pairs += flat(value, f"{prefix}{name}.")
        else:
            pairs.append((f"{prefix}{name}", shown(value)))
    return pairs


def shown(value: Plain) -> str:
    """Format the value of a setting."""
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value) if value else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def last_job(rows: Sequence[ProvenanceRow]) -> tuple[str, str]:
    """Return partition and id of the last job, of those for all of the data if there are any."""
    jobs = [job for row in rows for job in row.jobs]
    whole = [job for job in jobs if not job[0]]
    return (whole or jobs or [("", "")])[-1]


def board_link(job: str, partition: str = "") -> BoardLink:
    """Link to a job on the board."""
    return BoardLink(
        job,
        partition,
        f"{ADDRESS}/job/{job}",
        "and the jobs that it was made from, on the board of exax: on the machine where “ax server” "
        "and “ax board-server” run in the folder of the project, and while they do",
    )
