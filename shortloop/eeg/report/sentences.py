"""Parts of sentences that sections of the report share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from shortloop.base.text import listed
from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.group.settings import NULLS, TOO_SMALL
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.times import TimeScale

__all__ = [
    "corrected",
    "during",
    "folds_without",
    "listed",
    "mean_score",
    "null_word",
    "p_alone",
    "p_text",
    "significance",
    "statistic",
]


def p_text(p: float | None) -> str:
    """A p value as journals print it."""
    if p is None:
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def p_alone(p: float | None) -> str:
    """A p value in a column of such."""
    return p_text(p).removeprefix("p ").removeprefix("= ")


def folds_without(kinds: Iterable[KindResult], settings: dict[str, Any]) -> str:
    """How many folds have no model, of how many."""
    every = [(kind.left_out, len(kind.participants) * len(kind.train_times)) for kind in kinds]
    lost, trained = (sum(each) for each in zip(*every, strict=True))
    decoding = settings.get("decoding", {})
    folds = None if decoding.get("fold_by") == "run" else decoding.get("folds")
    said = f"{lost:,} " if folds is None else f"{lost:,} of {folds * trained:,} "
    return f"{said}fold" if lost == 1 and folds is None else f"{said}folds"


def significance(start: str, clusters: list[str], found: dict[str, Any], alpha: float) -> str:
    """Whether something differs from chance."""
    caution = f" But {TOO_SMALL}." if found["too_small"] else ""
    if clusters:
        return f"{start} was significantly {listed(clusters)}.{caution}"
    p, p_max = p_text(found["p"]), p_text(found["p_max"])
    if found["p_max"] is not None and found["p_max"] <= alpha:
        return (
            f"{start} differed from chance in no cluster (smallest corrected {p}), but in single "
            f"bins by the maximum statistic ({p_max}).{caution}"
        )
    smallest = f"smallest corrected {p} by clusters, {p_max} by the maximum statistic"
    return f"{start} did not differ significantly from chance anywhere ({smallest})."


def during(scale: TimeScale, start: float, end: float) -> str:
    """A span of time within a sentence."""
    return f"at {scale.point(start)}" if start == end else f"from {scale.span(start, end)}"


def mean_score(result: KindResult) -> str:
    """What the map of scores holds."""
    if result.curve.level == "group":
        return "mean score"
    return "smoothed score" if result.smoothed else "score"


def statistic(result: KindResult) -> str:
    """Which statistic the maps hold."""
    alone = result.curve.level == "participant"
    return "z in the participant's own permutations" if alone else "one-sample t against chance"


def corrected(stats: MapStatistics, settings: dict[str, Any]) -> str:
    """How p values are corrected."""
    return (
        f"Corrected for all cells with {len(stats.null_max):,} {null_word(stats, settings)} "
        f"(two-sided, family-wise α = {stats.alpha:g})."
    )


def null_word(stats: MapStatistics, settings: dict[str, Any]) -> str:
    """What the null distribution is made of."""
    if stats.null:
        return NULLS[stats.null]
    if stats.level == "group" and settings.get("group", {}).get("null") == "sign-flips":
        return NULLS["sign-flips"]
    return NULLS[settings.get("permutations", {}).get("null") or ""]
