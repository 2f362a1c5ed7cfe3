"""From the jobs of the group stage to the content of a report, with the provenance of all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.stages.statistics_files import load_statistics
from shortloop.report.provenance import Source, source_of, thread_note, upstream
from shortloop.worker.results import Result

__all__ = ["collect"]


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
    chains = [list(upstream(group)) for group in groups]
    notes = [note for result in imported for note in result.facts.get("notes", ())]
    return ReportContent(
        study=settings["name"],
        settings=settings,
        kinds=tuple(_kind_result(results) for results in chains),
        versions=dict(groups[0].record["versions"]),
        thread_note=thread_note(result for results in chains for result in results),
        notes=tuple(sorted(set(notes))),
        recordings=tuple(each for result in imported for each in result.facts["recordings"]),
    )


def _kind_result(chain: list[Result]) -> KindResult:
    group = chain[0]
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
        sources=tuple(_source(result, facts["kind"]) for result in chain),
        left_out=facts["left_out"],
        train_phase=facts["train_phase"],
        test_phase=facts["test_phase"] or facts["train_phase"],
    )


def _source(result: Result, kind: str) -> Source:
    return source_of(result, "" if result.stage == "import_epochs" else kind)
