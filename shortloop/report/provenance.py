"""Where numbers come from: the jobs that they went through, and the rows of the tables that name these."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from shortloop.plain import Plain
from shortloop.report.flat import flat
from shortloop.worker.results import Result
from shortloop.worker.upstream import upstream

__all__ = ["ProvenanceRow", "Source", "provenance_rows", "source_of", "thread_note", "upstream"]

SHOWN_APART = ("partition", "modules")


@dataclass(frozen=True)
class Source:
    """One job that numbers went through.

    Parameters
    ----------
    job : str
        Id of the job.
    stage : str
        Name of the stage, e.g. ``"train"``.
    partition : str
        The part of the data that it is for; empty: all.
    sibling : str
        What tells the stage from others of its name in one report; empty if there is no other.
    options : dict of str to object
        Options of the job.
    versions : dict of str to str
        Versions of the libraries that it ran with.
    """

    job: str
    stage: str
    partition: str
    sibling: str
    options: dict[str, Plain]
    versions: dict[str, str]


class ProvenanceRow(NamedTuple):
    """Jobs that share a stage, its options and its versions.

    Parameters
    ----------
    stage : str
        Name of the stage, with what tells it from its siblings.
    jobs : list of (str, str)
        Partition and job id of each.
    options, versions : list of (str, str)
        Names and texts.
    """

    stage: str
    jobs: list[tuple[str, str]]
    options: list[tuple[str, str]]
    versions: list[tuple[str, str]]


def source_of(result: Result, sibling: str = "") -> Source:
    """A job as a source of numbers.

    Parameters
    ----------
    result : Result
        The job.
    sibling : str, default ""
        As of `Source`.

    Returns
    -------
    Source
    """
    return Source(
        job=result.job,
        stage=result.stage,
        partition=result.partition or "",
        sibling=sibling,
        options={name: each for name, each in result.options.items() if name not in SHOWN_APART},
        versions=dict(result.record["versions"]),
    )


def thread_note(results: Iterable[Result]) -> str:
    """How many threads the work used, in a sentence.

    Parameters
    ----------
    results : iterable of Result
        The jobs that did it.

    Returns
    -------
    str
    """
    used = [pool["threads_used"] for result in results for pool in result.record["threads"]]
    widest = max(used, default=1)
    return f"Every process used {widest} thread for linear algebra, as checked where the work ran."


def provenance_rows(sources: Iterable[Source]) -> tuple[ProvenanceRow, ...]:
    """Jobs that share a stage, its options and its versions, in one row.

    Parameters
    ----------
    sources : iterable of Source
        In the order of the stages.

    Returns
    -------
    tuple of ProvenanceRow
        An option that only repeats the partition's name is left out, so that the same stage of all
        partitions makes one row.
    """
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
