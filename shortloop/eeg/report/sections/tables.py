"""Tables of the report: the effects that were found, and the best score of each participant."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from shortloop.eeg.group.settings import SHARED_TRAINING
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.labels import chance_text, p_alone, score_text
from shortloop.eeg.report.summary import effect_parts, group_findings, participant_table, peaks_of, spans_of
from shortloop.eeg.report.times import TimeScale, time_scale
from shortloop.report.files import TABLES
from shortloop.report.page import PageTable, TableRow, csv_text, slug

NONE = "–"


def effects(result: KindResult) -> PageTable:
    """List each significant cluster of the curve and of the map; if there is none, the peak."""
    found, scale, group = group_findings(result), time_scale(result), result.curve.level == "group"
    curve, plane = found["curve"], found["generalization"]
    here = f"Decoding in {result.train_phase}"
    rows = [_effect(here, each or curve, scale, result) for each in curve["clusters"] or [None]]
    if plane is not None:
        to = f"Generalization to {result.test_phase}"
        rows += [_effect(to, each or plane, scale, result) for each in plane["regions"] or [None]]
    heads = ("Direction", "When", "Corrected p", f"Peak (chance {chance_text(result.curve)})", "Peak at")
    d = (
        f" Cohen's d is that of the {'smoothed ' if result.smoothed else ''}scores against chance, over "
        "participants, in the one bin of the peak; as this is chosen for its size, it tends to be too large."
    )
    return PageTable(
        title=f"Effects, {result.kind}",
        caption="Clusters that differ from chance; where there is none, the highest score. A peak is the "
        f"score farthest from chance; p is corrected by cluster mass.{d if group else ''}",
        of="Scores",
        columns=heads + ("Cohen's d (95 % CI)",) * group,
        rows=tuple(rows),
        file=f"{TABLES}/{slug(result.kind)}_effects.csv",
        content=_effects_csv(result, found),
        words=True,
    )


def _effect(name: str, found: dict[str, Any], scale: TimeScale, result: KindResult) -> TableRow:
    when = NONE if "direction" not in found else _both(scale.span(*each) for each in spans_of(found))
    peak, at = score_text(result.curve.score, found["peak"]), _both(map(scale.point, peaks_of(found)))
    cells = [found.get("direction", "not significant"), when, p_alone(found["p"]), peak, at]
    if result.curve.level == "group":
        d, ends = (NONE, "") if found["effect"] is None else effect_parts(found["effect"])
        cells.append(f"{d} ({ends})" if ends else d)
    return TableRow(name, tuple(cells))


def _both(said: Iterable[str]) -> str:
    trained, *tested = said
    return f"trained {trained}, tested {tested[0]}" if tested else trained


def _effects_csv(result: KindResult, found: dict[str, Any]) -> str:
    unit = result.time_unit
    spans = [f"{of} {end} ({unit})" for of in ("train", "test") for end in ("from", "to")]
    peaks = [f"peak {of} time ({unit})" for of in ("train", "test")]
    columns = ["scores", "direction", *spans, "corrected p", "peak", *peaks, "d", "d low", "d high"]
    rows = []
    plane = found["generalization"] or {"regions": ()}
    for each in (*found["curve"]["clusters"], *plane["regions"]):
        curve = "start" in each
        times = [*(time for span in spans_of(each) for time in span), *[None] * (2 * curve)]
        peak = [each["peak"], *peaks_of(each), *[None] * curve]
        d = [(each["effect"] or {}).get(name) for name in ("d", "low", "high")]
        scores = "decoding" if curve else "generalization"
        rows.append([scores, each["direction"], *times, each["p"], *peak, *d])
    return csv_text(columns, rows)


def best_scores(result: KindResult) -> PageTable:
    scale, table = time_scale(result), participant_table(result)
    scored = "AUC" if result.curve.score == "auc" else "%"
    tested = bool(result.individual)
    interval, p = ["95 % interval"] * tested, ["p"] * tested
    heads = [f"Decoding in {result.train_phase} ({scored})", *interval, f"at ({scale.unit})", *p]
    fields = ["peak", "low", "high", "peak_time", "p", "chance"]
    if result.generalization is not None:
        heads += [f"Generalization to {result.test_phase} ({scored})", *interval]
        heads += [f"trained at ({scale.unit})", f"tested at ({scale.unit})", *p]
        more = ("peak", "low", "high", "train_time", "test_time", "p")
        fields += [f"generalization_{each}" for each in more]
    rows = [TableRow(row["participant"], _cells(row, scale, result)) for row in table]
    if result.curve.level == "group":
        found = group_findings(result)
        mean = {name: found["curve"][name] for name in ("peak", "peak_time")}
        for name in ("peak", "train_time", "test_time"):
            field = name if name == "peak" else f"peak_{name}"
            mean[f"generalization_{name}"] = (found["generalization"] or {}).get(field)
        name = "Mean, smoothed" if result.smoothed else "Mean"
        rows.append(TableRow(name, _cells(mean, scale, result), total=True))
    return PageTable(
        title=f"Participants, {result.kind}",
        caption="Best score of each participant, not smoothed, and when; chance is "
        f"{chance_text(result.curve)}.{_tests(result)}",
        of="Participant",
        columns=tuple(heads),
        rows=tuple(rows),
        file=f"{TABLES}/{slug(result.kind)}_best_scores.csv",
        content=csv_text(
            ["participant", *fields], [[row["participant"], *map(row.get, fields)] for row in table]
        ),
    )


def _cells(row: dict[str, Any], scale: TimeScale, result: KindResult) -> tuple[str, ...]:
    score = partial(score_text, result.curve.score, unit=False)
    shown = {"": ["peak_time"]}
    if result.generalization is not None:
        shown["generalization_"] = ["generalization_train_time", "generalization_test_time"]
    cells = []
    for prefix, times in shown.items():
        low, high, p = (row.get(f"{prefix}{name}") for name in ("low", "high", "p"))
        cells.append(score(row[f"{prefix}peak"]))
        if result.individual:
            cells.append(NONE if low is None or high is None else f"{score(low)} to {score(high)}")
        cells += [scale.number(row[name]) for name in times]
        if result.individual:
            cells.append(NONE if p is None else p_alone(p))
    return tuple(cells)


def _tests(result: KindResult) -> str:
    if not result.individual:
        return ""
    one, shared = result.individual[0], ""
    if SHARED_TRAINING in one.note:
        shared = (
            f" In {result.train_phase} these p are too small, as folds share their training trials, which "
            'permutations of the test labels do not show; permutations.null = "training-labels" does.'
        )
    return (
        f" Intervals ({100 * one.level:g} %) are of {one.draws:,} samples of the trials with replacement, "
        "with the predictions as they are: they say how sure the score of these classifiers is, not that it "
        "is the largest of many. p, two-sided, is that of the participant's largest |z| against its own "
        f"{one.permutations:,} permutations, {'smoothed and ' if result.smoothed else ''}corrected "
        f"for all bins: (1 + b) / (1 + m) for b of m permutations that reach it.{shared}"
    )
