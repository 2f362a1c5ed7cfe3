"""Words for scores, p values and units, for the page and for the terminal; imports no NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.score_names import Score

if TYPE_CHECKING:  # the end of each run prints scores, and needs no NumPy for that
    from shortloop.eeg.group.maps import MapStatistics

SCORES = {"balanced-accuracy": "Balanced accuracy (%)", "accuracy": "Accuracy (%)", "auc": "AUC"}
UNITS = dict.fromkeys(("eeg", "eog", "ecg", "emg", "ecog", "seeg", "dbs"), "V") | {"mag": "T", "grad": "T/m"}
SCALES = {
    "V": (1e6, "µV"),
    "V²": (1e12, "µV²"),
    "T": (1e15, "fT"),
    "T²": (1e30, "fT²"),
    "T/m": (1e13, "fT/cm"),
    "T²/m²": (1e26, "fT²/cm²"),
    "V/m²": (1e6, "µV/m²"),
    "V²/m⁴": (1e12, "µV²/m⁴"),
}


def score_label(stats: MapStatistics) -> str:
    mean = "" if stats.expected is None else "mean "
    return f"{SCORES[stats.score]}, {mean}chance {score_text(stats.score, stats.chance, unit=False)}"


def score_text(score: Score, value: float, *, unit: bool = True) -> str:
    """Format a score: percent with one decimal, AUC with three."""
    if score == "auc":
        return f"{value:.3f}"
    return f"{value:.1f} %" if unit else f"{value:.1f}"


def chance_text(stats: MapStatistics) -> str:
    level = score_text(stats.score, stats.chance)
    return level if stats.expected is None else f"{level} on average"


def letter_of(stats: MapStatistics) -> str:
    return "z" if stats.level == "participant" else "t"


def p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def p_alone(p: float) -> str:
    """Format a p value in a column of p values."""
    return p_text(p).removeprefix("p ").removeprefix("= ")


def readable(unit: str) -> tuple[float, str]:
    """Return factor and name of a unit in which a signal is easy to read: microvolts rather than volts."""
    return SCALES.get(unit, (1.0, unit or "arbitrary unit"))


def limit_text(kind: str, value: float) -> str:
    factor, unit = readable(UNITS[kind]) if kind in UNITS else (1.0, "in SI units")
    return f"{factor * value:g} {unit}"
