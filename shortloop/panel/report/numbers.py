"""What is said of the coefficients of one specification, as numbers."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from shortloop.panel.report.content import Shown

__all__ = ["ALPHA", "Coefficient", "coefficient_numbers"]

ALPHA = 0.05


class Coefficient(TypedDict):
    """A coefficient over the groups that were fitted. None where there is none.

    Parameters
    ----------
    term : str
        What it is called.
    median, lower, upper : float or None
        Estimates: their median and quartiles.
    error : float or None
        Median of the standard errors.
    tested : int
        Groups that have a p.
    small : int
        Groups whose p is below `ALPHA`.
    tested_corrected, small_corrected : int or None
        The same of corrected p; None: no correction was asked for.
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
    """Numbers of each coefficient.

    Parameters
    ----------
    shown : Shown
        One specification and outcome.

    Returns
    -------
    list of Coefficient
        JSON-able.
    """
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


def _quantiles(values: np.ndarray) -> tuple[float | None, float | None, float | None]:
    known = values[np.isfinite(values)]
    if not len(known):
        return None, None, None
    lower, median, upper = np.quantile(known, [0.25, 0.5, 0.75])
    return float(lower), float(median), float(upper)
