"""A basis of regressors in which statsmodels keeps its digits: of near sums of others, of far sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.formulas.design import Design

FAR = 1e4  # condition number of regressors up to which they stay as they are
LOST = 1e12  # condition number that leaves statsmodels less than four digits
SINGULAR = 1e10  # condition number, at unit length, that leaves coefficients hardly a digit
CLEAR = 1e-6  # smallest eigenvalue of products from which regressors are not singular, far above rounding
PART_OF = 1e-6  # share of a regressor in a sum that is no rounding


@dataclass(frozen=True)
class Basis:
    """Regressors less their means, as far as there is a constant, times a matrix."""

    means: FloatArray  # (coefficients,)
    matrix: FloatArray  # (coefficients, coefficients)
    own: FloatArray  # (coefficients, coefficients): from coefficients in the basis to those of regressors
    leverage: FloatArray  # (rows,)

    def rows(self, rows: FloatArray) -> FloatArray:
        return np.asarray((rows - self.means) @ self.matrix)

    def covariance(self, of: FloatArray) -> FloatArray:
        return np.asarray(self.own @ of @ self.own.T)


def is_far(rows: FloatArray) -> bool:
    """True if statsmodels loses digits of regressors, (rows, coefficients)."""
    sizes = np.abs(rows).max(axis=0, initial=0.0)
    if not sizes.all() or not np.isfinite(sizes).all():
        return False
    if sizes.max() > FAR * sizes.min():
        return True
    unit = rows / sizes.max()
    squares = np.linalg.eigvalsh(unit.T @ unit)
    return bool(not squares[0] * FAR**2 > squares[-1])


def is_lost(rows: FloatArray) -> bool:
    """True if statsmodels loses most digits of regressors."""
    return is_far(rows) and not np.linalg.cond(rows) <= LOST


def basis_of(rows: FloatArray, weights: Any = None) -> Basis | None:
    """Return a basis of regressors, (rows, coefficients); None if they stay as they are."""
    number, size = rows.shape
    if number <= size or not is_far(rows):
        return None
    weights = np.ones(number) if weights is None else np.asarray(weights, np.float64)
    if not (weights > 0.0).all() or not np.isfinite(weights).all():
        return None
    constant = np.flatnonzero(np.ptp(rows, axis=0) == 0.0)[:1]  # at most one, which stays
    others = np.setdiff1d(np.arange(size), constant)
    means = np.zeros(size)
    if len(constant):
        means[others] = weights @ (rows[:, others] / weights.sum())
    around = (rows - means)[:, others]
    sizes = np.abs(around).max(axis=0, initial=0.0)
    if not len(others) or not sizes.all():
        return None
    unit = around / sizes * np.sqrt(weights)[:, np.newaxis]
    lengths = np.sqrt(np.square(unit).sum(axis=0))
    basis, triangle = np.linalg.qr(unit / lengths)
    if not np.linalg.cond(triangle) <= SINGULAR:
        return None
    matrix = np.eye(size)
    scaled = np.linalg.inv(triangle) * np.sqrt(weights.sum())
    matrix[np.ix_(others, others)] = scaled / (sizes * lengths)[:, np.newaxis]
    own = matrix.copy()
    if len(constant):
        own[constant, others] -= (means @ matrix)[others] / rows[0, constant]
    leverage = np.square(basis).sum(axis=1) + len(constant) * weights / weights.sum()
    return Basis(means, matrix, own, leverage)


def dependent(design: Design, rows: FloatArray) -> str:
    """Name regressors that are nearly dependent, in any units of measure; empty if none are."""
    sizes = np.abs(rows).max(axis=0, initial=0.0)
    if not sizes.all():
        once = ", once the effects are absorbed" if "absorbed" in design.roles else ""
        return f"0 in all rows{once}: {names_of(design, sizes == 0.0)}"
    unit = rows / sizes
    unit /= np.sqrt(np.square(unit).sum(axis=0))
    squares = np.linalg.eigvalsh(unit.T @ unit)  # exact enough to see that there is no question
    if squares[0] > CLEAR:
        return ""
    values, directions = np.linalg.svd(unit, full_matrices=False)[1:]
    alike = directions[SINGULAR * values < values[0]]
    if not len(alike):
        return ""
    some = names_of(design, (np.abs(alike) > PART_OF).any(axis=0))
    return f"a regressor is a sum of others, or nearly: {some}"


def names_of(design: Design, which: np.ndarray) -> str:
    """Name some regressors, bool, (coefficients,)."""
    return ", ".join(name for name, each in zip(design.names, which, strict=True) if each)
