"""The best score of each participant, and when it was reached, as a table."""

from __future__ import annotations

from functools import partial
from typing import Any

from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import chance_text, score_text
from shortloop.eeg.report.sections.section import Section
from shortloop.eeg.report.summary import group_findings, participant_table
from shortloop.eeg.report.times import TimeScale, time_scale
from shortloop.report.page import PageTable, TableRow

__all__ = ["SECTION", "best_scores"]


def best_scores(result: KindResult) -> PageTable:
    """Best score of each participant, and of their mean.

    Parameters
    ----------
    result : KindResult

    Returns
    -------
    PageTable
    """
    scale = time_scale(result)
    scored = "AUC" if result.curve.score == "auc" else "%"
    heads = [f"Decoding in {result.train_phase} ({scored})", f"at ({scale.unit})"]
    if result.generalization is not None:
        heads += [
            f"Generalization to {result.test_phase} ({scored})",
            f"trained at ({scale.unit})",
            f"tested at ({scale.unit})",
        ]
    rows = [TableRow(row["participant"], _cells(row, scale, result)) for row in participant_table(result)]
    if result.curve.level == "group":
        found = group_findings(result)
        plane = found["generalization"] or {}
        mean = {
            "peak": found["curve"]["peak"],
            "peak_time": found["curve"]["peak_time"],
            "generalization_peak": plane.get("peak"),
            "generalization_train_time": plane.get("peak_train_time"),
            "generalization_test_time": plane.get("peak_test_time"),
        }
        rows.append(TableRow("Mean, smoothed", _cells(mean, scale, result), total=True))
    chance = chance_text(result.curve)
    return PageTable(
        title="Participants",
        caption=f"Best score of each participant, not smoothed, and when; chance is {chance}.",
        of="Participant",
        columns=tuple(heads),
        rows=tuple(rows),
    )


def _cells(row: dict[str, Any], scale: TimeScale, result: KindResult) -> tuple[str, ...]:
    def time(value: float | None) -> str:
        return "–" if value is None else scale.number(value)

    score = partial(score_text, result.curve.score, unit=False)
    cells = [score(row["peak"]), time(row["peak_time"])]
    if result.generalization is not None:
        cells.append(score(row["generalization_peak"]))
        cells += [time(row["generalization_train_time"]), time(row["generalization_test_time"])]
    return tuple(cells)


SECTION = Section("best_scores", "Participants", table=best_scores)
