"""What is said and drawn of the coefficients of one specification, as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypedDict

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.report.content import Shown
from shortloop.panel.results import group_columns
from shortloop.report.page import csv_text

__all__ = [
    "ALPHA",
    "BINS",
    "Coefficient",
    "Estimates",
    "coefficient_numbers",
    "coefficients_csv",
    "counts_of_p",
    "pvalues_csv",
    "sorted_estimates",
]

ALPHA = 0.05
BINS = 20
"""Of the histograms of p."""


class Coefficient(TypedDict):
    """A coefficient over the groups that were fitted. None where there is none.

    term: what it is called.
    median, lower, upper: Estimates: their median and quartiles.
    error: median of the standard errors.
    tested: groups that have a p.
    small: groups whose p is below `ALPHA`.
    tested_corrected, small_corrected: the same of corrected p; None: no correction was asked for.
    """

    term: str
    median: float | None
    lower: float | None
    upper: float | None
    error: float | None
    tested: int
    small: int
    tested_corrected: int | None
    small_corrected: int | None


def coefficient_numbers(shown: Shown) -> list[Coefficient]:
    """Numbers of each coefficient."""
    found = []
    for j, term in enumerate(shown.names):
        lower, median, upper = _quantiles(np.asarray(shown.arrays["params"])[shown.fitted, j])
        p = np.asarray(shown.arrays["pvalues"])[shown.fitted, j]
        corrected = None if shown.corrected is None else shown.corrected[shown.fitted, j]
        found.append(
            Coefficient(
                term=term,
                median=median,
                lower=lower,
                upper=upper,
                error=_quantiles(np.asarray(shown.arrays["bse"])[shown.fitted, j])[1],
                tested=int(np.isfinite(p).sum()),
                small=int((p < ALPHA).sum()),
                tested_corrected=None if corrected is None else int(np.isfinite(corrected).sum()),
                small_corrected=None if corrected is None else int((corrected < ALPHA).sum()),
            )
        )
    return found


class Estimates(NamedTuple):
    """Estimates of a coefficient, from the smallest to the largest.

    groups: int. Which group each is of.
    params, lower, upper: float. The estimates, and the ends of their intervals.
    """

    groups: IntArray
    params: FloatArray
    lower: FloatArray
    upper: FloatArray


def sorted_estimates(shown: Shown, j: int) -> Estimates:
    """Estimates of a coefficient in the groups that were fitted and have it."""
    params, lower, upper = (
        np.asarray(shown.arrays[name], float)[:, j] for name in ("params", "lower", "upper")
    )
    some = np.flatnonzero(shown.fitted & np.isfinite(params))
    groups = some[np.argsort(params[some], kind="stable")]
    return Estimates(groups, params[groups], lower[groups], upper[groups])


def counts_of_p(shown: Shown, j: int) -> IntArray:
    """How many of the groups that were fitted have a p in each of `BINS` parts of 0 to 1.

    returns: int, (BINS,). A p between two parts counts as of the upper one.
    """
    pvalues = np.asarray(shown.arrays["pvalues"], float)[shown.fitted, j]
    return np.histogram(pvalues[np.isfinite(pvalues)], BINS, (0.0, 1.0))[0]


def coefficients_csv(shown: Shown) -> str:
    """The sorted estimates as text."""

    def rows() -> Iterator[list[str | float]]:
        for j, name in enumerate(shown.names):
            for group, *numbers in zip(*sorted_estimates(shown, j), strict=True):
                yield [name, *shown.keys[group], *map(float, numbers)]

    return csv_text(["coefficient", *group_columns(shown.by), "estimate", "low", "high"], rows())


def pvalues_csv(shown: Shown) -> str:
    """The histograms of p as text."""
    return csv_text(
        ["coefficient", "p from", "p to", "groups"],
        (
            [name, place / BINS, (place + 1) / BINS, int(count)]
            for j, name in enumerate(shown.names)
            for place, count in enumerate(counts_of_p(shown, j))
        ),
    )


def _quantiles(values: np.ndarray) -> tuple[float | None, float | None, float | None]:
    known = values[np.isfinite(values)]
    if not len(known):
        return None, None, None
    lower, median, upper = np.quantile(known, [0.25, 0.5, 0.75])
    return float(lower), float(median), float(upper)
