"""Ranking of groups by summaries of their residuals."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.diagnostics.rows import Rows

OUTLYING = 3.0
"""Standardised residuals beyond this are outlying: one of 370, if errors are normal."""
SUMMARY = {
    "outlying": f"share of rows whose standardised residual is beyond {OUTLYING:g}",
    "largest": "largest standardised residual, whatever its sign",
    "jarque_bera": "Jarque and Bera's statistic of the residuals: 0 if they are normal",
    "leverage": "largest leverage, over the mean",
    "cook": "largest Cook's distance",
    "agreement": "squared correlation of observed and fitted values",
}
"""Summaries of the residuals of a group."""
CRITERIA: Mapping[str, tuple[tuple[str, ...], int]] = {
    "outliers": (("outlying", "largest"), 1),
    "normality": (("jarque_bera",), 1),
    "leverage": (("leverage",), 1),
    "influence": (("cook", "leverage"), 1),
    "fit": (("agreement",), -1),
}
"""What each goes by, of `SUMMARY`, the next where the ones before are alike
or not known; and 1 if the largest is worst, -1 if the smallest is."""


def summary_of(rows: Rows) -> dict[str, float]:
    """Summarize the residuals of a group, by the names of `SUMMARY`."""
    sizes = np.abs(rows.standardized[np.isfinite(rows.standardized)])
    cook = rows.cook[np.isfinite(rows.cook)]
    leverage = rows.leverage[np.isfinite(rows.leverage)]
    with np.errstate(all="ignore"):
        return {
            "outlying": float((sizes > OUTLYING).mean()) if len(sizes) else np.nan,
            "largest": float(sizes.max(initial=0.0)) if len(sizes) else np.nan,
            "jarque_bera": _jarque_bera(rows.normal[np.isfinite(rows.normal)]),
            "leverage": float(leverage.max() / leverage.mean()) if leverage.any() else np.nan,
            "cook": float(cook.max()) if rows.has_cook and len(cook) else np.nan,
            "agreement": _agreement(rows.observed, rows.fitted),
        }


def worst(summary: Mapping[str, FloatArray], by: str, count: int) -> list[int]:
    """Rank groups by their summaries, each of shape (groups,); NaN of groups that are left out."""
    names, sign = CRITERIA[by]
    keys = [-sign * np.asarray(summary[name], np.float64) for name in names]
    while len(keys) > 1 and np.isnan(keys[0]).all():  # not every model has it
        keys.pop(0)
    order = np.lexsort(keys[::-1])  # NaN last
    return [int(g) for g in order if not np.isnan(keys[0][g])][:count]


def reason(values: Mapping[str, float], by: str) -> str:
    """Tell why a group is among the worst."""
    if by == "influence" and np.isnan(values["cook"]):
        by = "leverage"
    more = f", the furthest at {values['largest']:.3g}" if by == "outliers" else ""
    return described(values)[by] + more


def described(values: Mapping[str, float]) -> dict[str, str]:
    """Describe the summary of a group, by criterion."""
    return {
        "outliers": f"{100 * values['outlying']:.3g} % of standardised residuals beyond {OUTLYING:g}",
        "leverage": f"largest leverage {values['leverage']:.3g} times the mean",
        "influence": f"largest Cook's distance {values['cook']:.3g}",
        "normality": f"Jarque-Bera {values['jarque_bera']:.4g}",
        "fit": f"squared correlation of observed and fitted values {values['agreement']:.3g}",
    }


def _jarque_bera(values: FloatArray) -> float:
    """Compute the statistic of Jarque and Bera.

    1980, Efficient tests for normality, homoscedasticity and serial independence of regression residuals,
    equation 4.
    """
    if len(values) < 2 or not np.ptp(values):
        return np.nan
    apart = values - values.mean()
    squares = np.square(apart)
    variance = squares.mean()
    skewness = (squares * apart).mean() / variance**1.5
    excess = np.square(squares).mean() / variance**2 - 3.0
    return float(len(values) / 6.0 * (skewness**2 + excess**2 / 4.0))


def _agreement(observed: FloatArray, fitted: FloatArray) -> float:
    a, b = observed - observed.mean(), fitted - fitted.mean()
    both = np.sqrt(np.square(a).sum() * np.square(b).sum())
    return float(((a * b).sum() / both) ** 2) if both else 0.0
