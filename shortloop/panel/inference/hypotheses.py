"""Wald tests of linear hypotheses about coefficients, in words as statsmodels has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.panel.statistics import TESTS, Statistics

ROUNDED = 1e-12  # smallest eigenvalue of a correlation that is not rounding
Constraints = tuple[FloatArray, FloatArray]
"""``R``, (constraints, coefficients), and ``r`` of ``R b = r``."""


def constraints_of(text: str, names: Sequence[str], field: str = "tests") -> Constraints:
    """Parse a hypothesis about the coefficients `names`; InputError if it is none."""
    from patsy import DesignInfo, PatsyError

    try:
        plain = re.sub("`([^`]*)`", lambda found: found[1] if found[1] in names else found[0], text)
        found = DesignInfo(names).linear_constraint(plain)
    except (PatsyError, IndexError) as error:
        said = str(error).partition("\n")[0] if text.strip() else "it is empty"
        hint = "write e.g. 'x1 = x2' or 'x1 = x2 = 0', with names as in the column `term` of the coefficients"
        expected = f"coefficients, of {', '.join(names)}"
        raise InputError(
            f"invalid hypothesis: {said}", field=field, found=text, expected=expected, hint=hint
        ) from None
    left, right = np.asarray(found.coefs, np.float64), np.asarray(found.constants, np.float64).reshape(-1)
    if np.linalg.matrix_rank(left) < len(left):
        hint = "leave out those that others imply"
        raise InputError("hypotheses depend on each other", field=field, found=text, hint=hint)
    return left, right


def check_tests(tests: Sequence[str], names: Sequence[str], field: str = "tests") -> None:
    for text in tests:
        constraints_of(text, names, field)


def test_all(tests: Sequence[str], names: Sequence[str], fits: Mapping[str, np.ndarray]) -> Statistics:
    """Test hypotheses in all groups: `TESTS`, (groups, tests), NaN where a coefficient is absent."""
    # `fits` has "params", (groups, coefficients); "covariance", (groups, coefficients, coefficients); and
    # "freedom", (groups,), infinite for the normal distribution.
    found = {name: np.full((len(fits["params"]), len(tests)), np.nan) for name in TESTS}
    for i, text in enumerate(tests):
        try:
            left, right = constraints_of(text, names)
        except InputError:  # of a name that other blocks have; else the results say so
            continue
        for name, values in _wald(left, right, fits).items():
            found[name][:, i] = values
    return found


def _wald(left: FloatArray, right: FloatArray, fits: Mapping[str, np.ndarray]) -> Statistics:
    number, used = len(left), [int(j) for j in np.flatnonzero(left.any(axis=0))]
    params, covariance, freedom = fits["params"], fits["covariance"], fits["freedom"]
    effect, spread = np.zeros((len(params), number)), np.zeros((len(params), number, number))
    for a in range(number):  # sums that are the same bits whatever groups there are
        for j in used:
            effect[:, a] += left[a, j] * params[:, j]
        for b in range(number):
            for j in used:
                for k in used:
                    spread[:, a, b] += left[a, j] * left[b, k] * covariance[:, j, k]
    with np.errstate(all="ignore"):
        errors = np.sqrt(np.diagonal(spread, axis1=1, axis2=2))
        scaled = spread / (errors[:, :, np.newaxis] * errors[:, np.newaxis, :])
        there = np.isfinite(scaled).all(axis=(1, 2))
        there[there] = np.linalg.eigvalsh(scaled[there])[:, 0] > ROUNDED
        distance = ((effect - right) / errors)[there]
        statistic = np.full(len(params), np.nan)
        solved = np.linalg.solve(scaled[there], distance[:, :, np.newaxis])[:, :, 0]
        statistic[there] = (distance * solved).sum(axis=1)
        by_f = np.isfinite(freedom)
        statistic[by_f] /= number
        pvalues = np.where(by_f, special.fdtrc(number, freedom, statistic), special.chdtrc(number, statistic))
    alone = np.where(there, 1.0, np.nan) if number == 1 else np.full(len(params), np.nan)
    known = np.where(there, 1.0, np.nan)
    return {
        "test_effect": effect[:, 0] * alone,
        "test_bse": errors[:, 0] * alone,
        "test_statistic": statistic,
        "test_df": number * known,
        "test_df_denom": freedom * known,
        "test_pvalues": pvalues,
    }
