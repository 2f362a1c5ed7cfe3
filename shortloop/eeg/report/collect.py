"""From the jobs of the group stage to the content of a report, with the provenance of all of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shortloop.eeg.report.content import KindResult, ReportContent, Source
from shortloop.eeg.stages.statistics_files import load_statistics
from shortloop.worker.results import Result

__all__ = ["collect"]

SHOWN_APART = ("partition", "modules", "kind")  # or with the code


def collect(groups: Sequence[Result], imported: Sequence[Result], settings: dict[str, Any]) -> ReportContent:
    """Gather what a report shows.

    Parameters
    ----------
    groups : sequence of Result
        Jobs of the group stage, one for each kind of features.
    imported : sequence of Result
        Jobs of the import stages, for their notes. Jobs that the groups were made from may be older: of
        recordings that gave the same numbers.
    settings : dict
        The study as plain data.

    Returns
    -------
    ReportContent
    """
    upstream = [list(_upstream(group)) for group in groups]
    threads = [pool for results in upstream for result in results for pool in result.record["threads"]]
    widest = max((pool["threads_used"] for pool in threads), default=1)
    notes = [note for result in imported for note in result.facts.get("notes", ())]
    return ReportContent(
        study=settings["name"],
        settings=settings,
        kinds=tuple(_kind_result(results) for results in upstream),
        versions=dict(groups[0].record["versions"]),
        thread_note=f"Every process used {widest} thread for linear algebra, as checked where the work ran.",
        notes=tuple(sorted(set(notes))),
    )


def _kind_result(upstream: list[Result]) -> KindResult:
    group = upstream[0]
    facts = group.facts
    curve = load_statistics(group, "curve")
    assert curve is not None  # every group job has one
    return KindResult(
        kind=facts["kind"],
        participants=tuple(facts["participants"]),
        train_times=np.asarray(group.arrays["train_times"]),
        test_times=np.asarray(group.arrays["test_times"]) if "test_times" in group.arrays else None,
        time_unit=facts["time_unit"],
        curve=curve,
        generalization=load_statistics(group, "plane"),
        sources=tuple(_source(result, facts["kind"]) for result in upstream),
        left_out=facts["left_out"],
        train_phase=facts["train_phase"],
        test_phase=facts["test_phase"] or facts["train_phase"],
    )


def _source(result: Result, kind: str) -> Source:
    of_kind = kind if result.stage != "import_epochs" else ""
    options = {name: each for name, each in result.options.items() if name not in SHOWN_APART}
    return Source(
        job=result.job,
        stage=result.stage,
        participant=result.partition or "",
        kind=of_kind,
        options=options,
        versions=dict(result.record["versions"]),
    )


def _upstream(group: Result) -> Iterator[Result]:
    """A job and all that it was made from, each once, nearest first."""
    seen = {group.job}
    waiting = [group]
    while waiting:
        result = waiting.pop(0)
        yield result
        jobs = dict.fromkeys(job for _, job in result.sources() if job not in seen)
        seen.update(jobs)
        waiting += [each for each in map(group.ancestor, jobs) if each is not None]
