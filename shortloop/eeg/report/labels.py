"""Words and coordinates that figures share: titles, short names, axes of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.score import Score

if TYPE_CHECKING:  # the end of each run prints scores, and needs no NumPy for that
    from shortloop.base.types import FloatArray
    from shortloop.eeg.group.result import MapStatistics
    from shortloop.eeg.report.content import KindResult
    from shortloop.eeg.report.times import TimeScale

__all__ = [
    "NAMES",
    "chance_text",
    "edges_of",
    "generalization_of",
    "plane_of",
    "score_label",
    "score_name",
    "score_text",
    "title_of",
]

NAMES: dict[Score, str] = {
    "balanced-accuracy": "Balanced accuracy (%)",
    "accuracy": "Accuracy (%)",
    "auc": "AUC",
}


def title_of(result: KindResult, what: str) -> str:
    """Title of a figure: kind, what is shown, and of whom."""
    from shortloop.report.layout import short

    if result.curve.level == "participant":
        whose = f", participant {short(result.participants[0], 20)}"
    else:
        whose = f", group of {len(result.participants)}"
    return f"{result.kind.capitalize()}: {what}{whose}"


def score_name(stats: MapStatistics) -> str:
    """Label of an axis of scores."""
    return NAMES[stats.score]


def score_label(stats: MapStatistics) -> str:
    """Label of a colour bar of scores."""
    mean = "" if stats.expected is None else "mean "
    return f"{NAMES[stats.score]}, {mean}chance {score_text(stats.score, stats.chance, unit=False)}"


def score_text(score: Score, value: float | None, *, unit: bool = True) -> str:
    """A score as it is printed: percent with one decimal, AUC with three."""
    if value is None:
        return "–"
    if score == "auc":
        return f"{value:.3f}"
    return f"{value:.1f} %" if unit else f"{value:.1f}"


def chance_text(stats: MapStatistics) -> str:
    """The level of chance in words."""
    level = score_text(stats.score, stats.chance)
    return level if stats.expected is None else f"{level} on average"


def generalization_of(result: KindResult) -> MapStatistics:
    """The generalization map of a result."""
    if result.generalization is None:
        raise ValueError(f"{result.kind}: there is no generalization map to draw")
    return result.generalization


def edges_of(times: FloatArray, scale: TimeScale) -> FloatArray:
    """Edges of bins in the unit that is shown.

    times: float, (bins,). Centres of the bins, increasing, in seconds or in bins.
    returns: float, (bins + 1,). In ``scale.unit``.
    """
    from shortloop.eeg.report.times import bin_edges

    return bin_edges(times, 1.0 if scale.unit == "bin" else 0.02) * scale.factor


def plane_of(result: KindResult, scale: TimeScale) -> tuple[FloatArray, FloatArray]:
    """Edges of training and of testing bins of a generalization map, in the unit that is shown.

    returns: (array of float, (bins + 1,), array of float, (test bins + 1,)). Of training and of testing bins,
        in ``scale.unit``.
    """
    if result.test_times is None:
        raise ValueError(f"{result.kind}: there are no test times")
    return edges_of(result.train_times, scale), edges_of(result.test_times, scale)
