"""Rows of leverage 1: HC2 and HC3 divide their residual, zero, by zero.

Such a row alone decides a sum of coefficients, as the only row of a category does. Coefficients in that sum
have no variance by HC2 or HC3; all others do not depend on the row and have theirs.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    pass

__all__ = ["take_undefined_out"]

POWERS = {"HC2": 1, "HC3": 2}
"""Of one minus the leverage, by which squared residuals are divided: MacKinnon and White 1985, section 2."""
ALONE = 1e-12
"""One minus the leverage, up to which it is what rounding leaves of 0."""
SINGULAR = 1e10
"""Condition number from which regressors are told to be singular."""
PART = 1e-12
"""Share of a coefficient in a row, over the condition, that is no rounding."""


def take_undefined_out(results: Any) -> np.ndarray | None:
    """Make variances NaN that HC2 or HC3 leave undefined, and all others as without the rows.

    Returns the coefficients without a variance, array of bool of shape (coefficients,); None if all have one.
    """
    linear = sys.modules.get("statsmodels.regression.linear_model")
    if linear is None or not isinstance(results, linear.RegressionResults):
        return None
    power = POWERS.get(str(results.cov_type).upper())
    if power is None:
        return None
    rows = np.asarray(results.model.wexog, np.float64)
    lengths = np.sqrt(np.square(rows).sum(axis=0))
    if len(rows) <= len(lengths) or not lengths.all():
        return None
    basis, triangle = np.linalg.qr(rows / lengths)
    condition = np.linalg.cond(triangle)
    free = 1.0 - np.square(basis).sum(axis=1)
    alone = free <= ALONE
    if not alone.any() or condition > SINGULAR:
        return None
    shares = np.linalg.solve(triangle, basis.T)  # of rows in coefficients of regressors of unit length
    least = PART * condition * np.abs(shares[:, alone]).max(axis=0)
    undefined = (np.abs(shares[:, alone]) > least).any(axis=1)
    squares = np.square(np.asarray(results.wresid)[~alone]) / free[~alone] ** power
    covariance = (shares[:, ~alone] * squares) @ shares[:, ~alone].T / np.outer(lengths, lengths)
    covariance[undefined], covariance[:, undefined] = np.nan, np.nan
    results.cov_params_default = covariance
    return np.asarray(undefined)
