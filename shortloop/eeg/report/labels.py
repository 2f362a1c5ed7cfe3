"""Words and coordinates that figures share: titles, short names, axes of maps."""

from __future__ import annotations

from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.report.content import KindResult
from shortloop.eeg.report.times import TimeScale, bin_edges
from shortloop.eeg.score import Score
from shortloop.report.layout import short
from shortloop.types import FloatArray

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
    """Title of a figure: kind, what is shown, and of whom.

    Parameters
    ----------
    result : KindResult
    what : str
        What is shown, e.g. ``"decoding over time"``.

    Returns
    -------
    str
        E.g. ``"Amplitude: decoding over time, group of 12"``; of one participant, with its name.
    """
    if result.curve.level == "participant":
        whose = f", participant {short(result.participants[0], 20)}"
    else:
        whose = f", group of {len(result.participants)}"
    return f"{result.kind.capitalize()}: {what}{whose}"


def score_name(stats: MapStatistics) -> str:
    """Label of an axis of scores.

    Parameters
    ----------
    stats : MapStatistics

    Returns
    -------
    str
        E.g. ``"Balanced accuracy (%)"``, ``"AUC"``.
    """
    return NAMES[stats.score]


def score_label(stats: MapStatistics) -> str:
    """Label of a colour bar of scores.

    Parameters
    ----------
    stats : MapStatistics
        Its chance level is named.

    Returns
    -------
    str
        E.g. ``"Balanced accuracy (%), chance 33.3"``.
    """
    mean = "" if stats.expected is None else "mean "
    return f"{NAMES[stats.score]}, {mean}chance {score_text(stats.score, stats.chance, unit=False)}"


def score_text(score: Score, value: float | None, *, unit: bool = True) -> str:
    """A score as it is printed: percent with one decimal, AUC with three.

    Parameters
    ----------
    score : {"balanced-accuracy", "accuracy", "auc"}
        Which score.
    value : float or None
        None: there is none.
    unit : bool, default True
        Whether to say the unit.

    Returns
    -------
    str
        E.g. ``"33.3 %"``, ``"0.500"``.
    """
    if value is None:
        return "–"
    if score == "auc":
        return f"{value:.3f}"
    return f"{value:.1f} %" if unit else f"{value:.1f}"


def chance_text(stats: MapStatistics) -> str:
    """The level of chance in words.

    Parameters
    ----------
    stats : MapStatistics

    Returns
    -------
    str
        E.g. ``"33.3 %"``; ``"52.1 % on average"`` where it differs between cells.
    """
    level = score_text(stats.score, stats.chance)
    return level if stats.expected is None else f"{level} on average"


def generalization_of(result: KindResult) -> MapStatistics:
    """The generalization map of a result.

    Parameters
    ----------
    result : KindResult

    Returns
    -------
    MapStatistics, map of shape (test bins, bins)

    Raises
    ------
    ValueError
        If there is none.
    """
    if result.generalization is None:
        raise ValueError(f"{result.kind}: there is no generalization map to draw")
    return result.generalization


def edges_of(times: FloatArray, scale: TimeScale) -> FloatArray:
    """Edges of bins in the unit that is shown.

    Parameters
    ----------
    times : array of float, shape (bins,)
        Centres of the bins, increasing, in seconds or in bins.
    scale : TimeScale

    Returns
    -------
    array of float, shape (bins + 1,)
        In ``scale.unit``. A single bin is one bin or 20 ms wide.
    """
    return bin_edges(times, 1.0 if scale.unit == "bin" else 0.02) * scale.factor


def plane_of(result: KindResult, scale: TimeScale) -> tuple[FloatArray, FloatArray]:
    """Edges of training and of testing bins of a generalization map, in the unit that is shown.

    Parameters
    ----------
    result : KindResult
    scale : TimeScale

    Returns
    -------
    (array of float, shape (bins + 1,), array of float, shape (test bins + 1,))
        Of training and of testing bins, in ``scale.unit``.

    Raises
    ------
    ValueError
        If the result has no test times.
    """
    if result.test_times is None:
        raise ValueError(f"{result.kind}: there are no test times")
    return edges_of(result.train_times, scale), edges_of(result.test_times, scale)
