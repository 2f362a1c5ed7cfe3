"""Words and coordinates that figures share: titles, short names, axes of maps."""

from __future__ import annotations

from shortloop.data import FloatArray
from shortloop.group.result import MapStatistics
from shortloop.report.content import KindResult
from shortloop.report.times import TimeScale, bin_edges

__all__ = ["SCORE", "edges_of", "generalization_of", "plane_of", "score_label", "short", "title_of"]

SCORE = "Mean recall (%)"


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


def score_label(stats: MapStatistics) -> str:
    """Label of a colour bar of scores.

    Parameters
    ----------
    stats : MapStatistics
        Its chance level, percent, is named.

    Returns
    -------
    str
        E.g. ``"Mean recall (%), chance 33.3"``.
    """
    return f"{SCORE}, chance {stats.chance:.1f}"


def short(name: str, width: int) -> str:
    """A name cut to a width: its two ends, with an ellipsis between.

    Parameters
    ----------
    name : str
    width : int
        Largest number of characters, the ellipsis included; 6 or more.

    Returns
    -------
    str
        The name itself if it fits.
    """
    if len(name) <= width:
        return name
    # Both ends tell participants apart better than the beginning alone.
    tail = (width - 1) // 2
    return f"{name[: width - 1 - tail]}…{name[-tail:]}"


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
