"""How large effects are: standardized, with their intervals, and in which direction."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from shortloop.eeg.group.maps import SD_RESOLUTION
from shortloop.eeg.group.result import MapStatistics

__all__ = ["Effect", "cohens_d", "effect_at", "effect_parts", "effect_text"]

LEVEL = 0.95
LARGEST = 100  # d that is printed


class Effect(NamedTuple):
    """A standardized difference from chance.

    d: Cohen's d: mean over participants of score − chance, divided by its standard deviation.
    low, high: ends of its 95 % interval.
    """

    d: float
    low: float | None
    high: float | None


def cohens_d(t: float, participants: int) -> Effect:
    """Cohen's d of a one-sample t, with its interval.

    Cumming & Finch 2001, A primer on the understanding, use, and calculation of confidence intervals that
    are based on central and noncentral distributions, Educ Psychol Meas 61:532-574.
    """
    from scipy.special import nctdtrinc

    root = math.sqrt(participants)
    ends = [float(nctdtrinc(participants - 1, p, t)) / root for p in ((1 + LEVEL) / 2, (1 - LEVEL) / 2)]
    low, high = (end if math.isfinite(end) else None for end in ends)
    return Effect(t / root, low, high)


def effect_at(stats: MapStatistics, at: tuple[int, ...]) -> Effect | None:
    """Cohen's d in one cell of a map."""
    t = float(stats.t[at])
    if stats.level != "group" or not math.isfinite(t):
        return None
    points = 100.0 if stats.score == "auc" else 1.0
    away = points * abs(float(stats.mean[at] - stats.level_of_chance[at]))
    if abs(t) / math.sqrt(len(stats.scores)) * SD_RESOLUTION >= away * (1 - 1e-9) > 0:
        return None  # t has a standard deviation that is not that of the scores
    return cohens_d(t, len(stats.scores))


def effect_text(effect: dict[str, Any] | None) -> str:
    """Cohen's d at the end of a sentence."""
    if effect is None:
        return ""
    d, ends = effect_parts(effect)
    said = f"Cohen's d {d}" if d[0] in "<>" else f"Cohen's d = {d}"
    return f" ({said}, 95 % CI {ends})" if ends else f" ({said})"


def effect_parts(effect: dict[str, Any]) -> tuple[str, str]:
    """Cohen's d and the ends of its interval, as they are printed."""
    if abs(effect["d"]) > LARGEST:
        return f"> {LARGEST}" if effect["d"] > 0 else f"< −{LARGEST}", ""
    ends = ""
    if effect["low"] is not None and effect["high"] is not None:
        ends = f"{effect['low']:.2f} to {effect['high']:.2f}"
    return f"{effect['d']:.2f}".replace("-", "−"), ends.replace("-", "−")
