"""Separation, which leaves no finite estimate.

Konis 2007 (Linear programming algorithms for detecting separated data in binary logistic regression models,
section 4.3); Correia, Guimarães and Zylkin 2019 (Verifying the existence of maximum likelihood estimates for
generalized linear models, proposition 1).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.panel.statistics import EDGE

EXACT = 1e-10  # tolerance of bounds in linear programs (the solver takes no less), and rounding of directions
NEAR = 1e-7  # share of the outcomes' size; smaller Gaussian means with log link are on their way to 0
TO_ZERO = {"Log": -1.0, "Logit": -1.0, "Probit": -1.0, "CLogLog": -1.0, "Cauchy": -1.0, "InversePower": 1.0}
"""Sign of the infinite linear predictor at which means are 0; other links have a finite one."""
TO_ONE = ("Logit", "Probit", "CLogLog", "Cauchy")  # links that have means of 1 at plus infinity


def is_separated(outcome: FloatArray, rows: FloatArray, results: Any, not_converged: bool) -> bool:
    """True if the likelihood has no maximum at finite coefficients; `rows` is (rows, coefficients)."""
    # With outcomes at both bounds it takes a linear program of them all: that is solved only where some means
    # are next to 0 or 1, or iterations did not get there.
    if (signs := _signs(results, outcome)) is None or not signs.any():
        return False
    if (signs > 0.0).any() and not not_converged:
        means = _means(results)
        if (np.minimum(means, 1.0 - means) >= EDGE).all():
            return False
    return _has_direction(signs, rows)


def are_separated(outcome: FloatArray, rows: FloatArray) -> bool:
    """True if regressors separate outcomes of 0 and 1, of which a fit has ended in an error."""
    signs = _at_bounds(outcome, -1.0, 1.0)
    return signs is not None and bool(signs.any()) and _has_direction(signs, rows)


def is_at_bound(results: Any) -> bool:
    """True if means are at a bound of the family that the link maps to a finite value."""
    family, link = _family_and_link(getattr(results, "model", None))
    lower = family in ("Poisson", "Binomial") and link == "Identity"
    upper = family == "Binomial" and link in ("Identity", "Log")
    if not (lower or upper):
        return False
    means = _means(results)
    return bool((lower and (means < EDGE).any()) or (upper and (means > 1.0 - EDGE).any()))


def _signs(results: Any, outcome: FloatArray) -> FloatArray | None:
    """Find where each likelihood grows without end: -1 at minus infinity, 1 at plus, 0 nowhere."""
    # None for unknown models. A class whose module is not loaded is not the model's.
    model = getattr(results, "model", None)
    discrete = sys.modules.get("statsmodels.discrete.discrete_model")
    if discrete is not None and isinstance(model, discrete.BinaryModel):
        return _at_bounds(outcome, -1.0, 1.0)
    if discrete is not None and isinstance(model, discrete.CountModel):
        return _at_bounds(outcome - (getattr(model, "truncation", -1) + 1), -1.0, 0.0)
    family, link = _family_and_link(model)
    if family == "Gaussian" and link == "Log":
        towards_0 = _means(results) < NEAR * np.sqrt(np.mean(np.square(outcome)))
        return np.asarray(-((outcome <= 0.0) | towards_0).astype(np.float64))
    if family not in ("Binomial", "Poisson", "NegativeBinomial"):
        return None
    return _at_bounds(outcome, TO_ZERO.get(link, 0.0), float(family == "Binomial" and link in TO_ONE))


def _family_and_link(model: Any) -> tuple[str, str]:
    linear = sys.modules.get("statsmodels.genmod.generalized_linear_model")
    if linear is None or not isinstance(model, linear.GLM):
        return "", ""
    return type(model.family).__name__, type(model.family.link).__name__


def _at_bounds(outcome: FloatArray, lower: float, upper: float) -> FloatArray | None:
    """Return signs of outcomes that are 0, or 1; None if one is impossible."""
    if (outcome < 0.0).any() or (upper > 0.0 and (outcome > 1.0).any()):
        return None
    return np.asarray(lower * (outcome == 0.0) + upper * (outcome == 1.0))


def _means(results: Any) -> FloatArray:
    with np.errstate(all="ignore"):
        return np.asarray(results.predict(), np.float64)


def _has_direction(signs: FloatArray, rows: FloatArray) -> bool:
    """True if a sum of regressors is 0 in rows of sign 0, and has the sign of all others, or is 0."""
    from scipy.optimize import linprog

    lengths = np.sqrt(np.square(rows).sum(axis=0))
    # Any basis of their sums has the direction. Of this one, no direction is shorter than 1, and its products
    # with the rows add up to no less; the solver's own tolerance, 1e-7, would let through far too much.
    basis = np.linalg.qr(rows / np.where(lengths > 0, lengths, 1.0))[0]
    inside = basis[signs == 0.0]
    _, values, directions = np.linalg.svd(inside, full_matrices=len(inside) < rows.shape[1])
    directions = directions[np.count_nonzero(values > EXACT) :]
    if not len(directions):
        return False
    signed = (signs[:, np.newaxis] * basis)[signs != 0.0] @ directions.T
    b_ub = np.zeros(len(signed))
    options = {"primal_feasibility_tolerance": EXACT, "dual_feasibility_tolerance": EXACT}
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=b_ub, bounds=(-1.0, 1.0), options=options)
    return bool(found.status == 0 and -found.fun > 0.5)
