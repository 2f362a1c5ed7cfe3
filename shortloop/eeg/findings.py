"""Findings of a run of a study, as numbers, for a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shortloop.base.plain import Plain
from shortloop.sweep.findings import Finding

INTERVAL = "95 % interval of the mean over participants"
LEVEL = 0.95
CURVE, MAP = "over time", "generalization"


def study_findings(summary: Mapping[str, Plain]) -> dict[str, Finding] | None:
    """Peak, its time, smallest p and best scores of participants, for each kind of features and map."""
    # None if it is no summary of a study.
    listed = summary.get("findings")
    if "study" not in summary or not isinstance(listed, Sequence):
        return None
    return dict(pair for each in listed if isinstance(each, Mapping) for pair in _of_kind(each))


def _of_kind(found: Mapping[str, Any]) -> Iterator[tuple[str, Finding]]:
    kind, group, rows = found["kind"], found["group"], found["participants"]
    unit = "AUC" if group["score"] == "auc" else "%"
    curve, plane = group["curve"], group["generalization"]
    yield f"{kind} {CURVE}: peak", Finding(curve["peak"], unit)
    yield f"{kind} {CURVE}: peak at", _time(curve["peak_time"], group["time_unit"])
    yield f"{kind} {CURVE}: smallest p of clusters", Finding(curve["p"])
    yield f"{kind} {CURVE}: best of each participant", _mean([row["peak"] for row in rows], unit)
    if plane is not None:
        yield f"{kind} {MAP}: peak", Finding(plane["peak"], unit)
        yield f"{kind} {MAP}: peak trained at", _time(plane["peak_train_time"], group["time_unit"])
        yield f"{kind} {MAP}: peak tested at", _time(plane["peak_test_time"], group["time_unit"])
        yield f"{kind} {MAP}: smallest p of clusters", Finding(plane["p"])
        best = _mean([row["generalization_peak"] for row in rows], unit)
        yield f"{kind} {MAP}: best of each participant", best
    yield f"{kind}: folds without a model", Finding(group["left_out"])


def _time(time: float, unit: str) -> Finding:
    return Finding(1000 * time, "ms") if unit == "s" else Finding(time, unit)


def _mean(scores: Sequence[float], unit: str) -> Finding:
    """With a t interval."""
    number = len(scores)
    mean = math.fsum(scores) / number
    if number < 2:
        return Finding(mean, unit)
    from scipy.special import stdtrit

    variance = math.fsum((score - mean) ** 2 for score in scores) / (number - 1)
    half = float(stdtrit(number - 1, (1 + LEVEL) / 2)) * math.sqrt(variance / number)
    return Finding(mean, unit, mean - half, mean + half, INTERVAL)
