"""The best score of each participant, and when it was reached, as a table."""

from __future__ import annotations

from functools import partial
from typing import Any

from shortloop.eeg.group.settings import SHARED_TRAINING
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import chance_text, score_text
from shortloop.eeg.report.sections.section import Section
from shortloop.eeg.report.sentences import p_alone
from shortloop.eeg.report.summary import group_findings, participant_table
from shortloop.eeg.report.times import TimeScale, time_scale
from shortloop.report.files import TABLES
from shortloop.report.page import PageTable, TableRow, slug
from shortloop.report.tables import csv_text

__all__ = ["SECTION", "best_scores"]

SURE = ["95 % interval"]
P = ["p"]


def best_scores(result: KindResult) -> PageTable:
    """Best score of each participant, and of their mean."""
    scale = time_scale(result)
    scored = "AUC" if result.curve.score == "auc" else "%"
    alone = bool(result.alone)
    heads = [f"Decoding in {result.train_phase} ({scored})", *SURE * alone, f"at ({scale.unit})", *P * alone]
    if result.generalization is not None:
        heads += [f"Generalization to {result.test_phase} ({scored})", *SURE * alone]
        heads += [f"trained at ({scale.unit})", f"tested at ({scale.unit})", *P * alone]
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
        rows.append(
            TableRow("Mean, smoothed" if result.smoothed else "Mean", _cells(mean, scale, result), total=True)
        )
    chance = chance_text(result.curve)
    return PageTable(
        title=f"Participants, {result.kind}",
        caption=f"Best score of each participant, not smoothed, and when; chance is {chance}.{_sure(result)}",
        of="Participant",
        columns=tuple(heads),
        rows=tuple(rows),
        file=f"{TABLES}/{slug(result.kind)}_best_scores.csv",
        content=_csv(result),
    )


def _cells(row: dict[str, Any], scale: TimeScale, result: KindResult) -> tuple[str, ...]:
    def time(value: float | None) -> str:
        return "–" if value is None else scale.number(value)

    score, alone = partial(score_text, result.curve.score, unit=False), bool(result.alone)

    def interval(name: str) -> list[str]:
        if not alone:
            return []
        low, high = row.get(f"{name}low"), row.get(f"{name}high")
        return ["–" if low is None or high is None else f"{score(low)} to {score(high)}"]

    def p(name: str) -> list[str]:
        if not alone:
            return []
        return ["–" if (value := row.get(f"{name}p")) is None else p_alone(value)]

    cells = [score(row["peak"]), *interval(""), time(row["peak_time"]), *p("")]
    if result.generalization is not None:
        cells += [score(row["generalization_peak"]), *interval("generalization_")]
        cells += [time(row["generalization_train_time"]), time(row["generalization_test_time"])]
        cells += p("generalization_")
    return tuple(cells)


def _sure(result: KindResult) -> str:
    if not result.alone:
        return ""
    one = result.alone[0]
    smoothed = "smoothed and " if result.smoothed else ""
    shared = ""
    if SHARED_TRAINING in one.curve.note:
        shared = (
            f" In {result.train_phase} these p are too small, as folds share their training trials, which "
            'permutations of the test labels do not show; permutations.null = "training-labels" does.'
        )
    return (
        f" Intervals ({100 * one.level:g} %) are of {one.draws:,} samples of the trials with replacement, "
        "with the predictions as they are: they say how sure the score of these classifiers is, not that it "
        "is the largest of many. p, two-sided, is that of the participant's largest |z| against its own "
        f"{len(one.curve.null_max):,} permutations, {smoothed}corrected for all bins: (1 + b) / (1 + m) "
        f"for b of m permutations that reach it.{shared}"
    )


def _csv(result: KindResult) -> str:
    fields = ["peak", "low", "high", "peak_time", "p", "chance"]
    if result.generalization is not None:
        fields += [
            f"generalization_{each}" for each in ("peak", "low", "high", "train_time", "test_time", "p")
        ]
    rows = participant_table(result)
    return csv_text(["participant", *fields], [[row["participant"], *map(row.get, fields)] for row in rows])


SECTION = Section("best_scores", "Participants", table=best_scores)
