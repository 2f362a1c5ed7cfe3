"""Quantile regressions as linear programs, solved by SciPy, with the standard errors that statsmodels has."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm
from statsmodels.regression.quantile_regression import QuantReg, QuantRegResults, hall_sheather, kernels

from shortloop.base.types import FloatArray

TIGHT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def loss_of(x: FloatArray, y: FloatArray, params: FloatArray, quantile: float) -> float:
    """The sum that the optimum makes least."""
    left = y - x @ params
    return float(np.sum(left * np.where(left >= 0.0, quantile, quantile - 1.0)))


def optimum_of(x: FloatArray, y: FloatArray, quantile: float) -> FloatArray:
    """An optimum; there may be others."""
    rows, size = x.shape
    units, unit = np.abs(x).max(axis=0), np.abs(y).max()
    program = linprog(
        np.repeat([0.0, quantile, 1.0 - quantile], [size, rows, rows]),
        A_eq=np.hstack([x / units, np.eye(rows), -np.eye(rows)]),
        b_eq=y / unit,
        bounds=[(None, None)] * size + [(0.0, None)] * (2 * rows),
        options=TIGHT,
    )
    assert program.status == 0, program.message
    return np.asarray(program.x[:size] / units * unit)


def is_unique(x: FloatArray, y: FloatArray, params: FloatArray, quantile: float) -> bool:
    """True if the gradient leaves room in all directions: of a fit through no more rows than coefficients."""
    left = y - x @ params
    through = np.abs(left) < 1e-9 * np.abs(y).max()
    if through.sum() != x.shape[1]:
        return False
    pull = np.where(left > 0.0, quantile, quantile - 1.0)[~through] @ x[~through]
    room = np.linalg.solve(x[through].T, -pull)
    return bool(((room > quantile - 1.0 + 1e-6) & (room < quantile - 1e-6)).all())


def errors_of(x: FloatArray, y: FloatArray, params: FloatArray, quantile: float) -> FloatArray:
    """Robust standard errors as of ``QuantReg.fit``; residuals that are rounding count as below."""
    left = y - x @ params
    left[np.abs(left) < 1e-11 * (np.abs(y) + np.abs(x * params).sum(axis=1))] = 0.0
    spread = np.subtract(*np.percentile(left, [75, 25]))
    width = hall_sheather(len(y), quantile)
    width = norm.ppf(quantile + width) - norm.ppf(quantile - width)
    width *= min(np.std(y), spread / 1.34)
    density = np.mean(kernels["epa"](left / width)) / width
    inverse = np.linalg.pinv(x)
    weight = (np.where(left > 0.0, quantile, 1.0 - quantile) / density) ** 2
    return np.asarray(np.sqrt(np.diag((inverse * weight) @ inverse.T)))


def results_at(x: FloatArray, y: FloatArray, params: FloatArray, quantile: float) -> QuantRegResults:
    """What statsmodels says of coefficients, which must be an optimum."""
    loss, least = (loss_of(x, y, each, quantile) for each in (params, optimum_of(x, y, quantile)))
    assert loss <= least * (1.0 + 1e-9), f"a loss of {loss:.17g}, where {least:.17g} can be reached"
    model = QuantReg(y, x)
    model.rank = np.linalg.matrix_rank(x)
    model.df_model, model.df_resid = float(model.rank - model.k_constant), model.nobs - model.rank
    errors = errors_of(x, y, params, quantile)
    return QuantRegResults(model, params, normalized_cov_params=np.diag(errors**2))
