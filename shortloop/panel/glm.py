"""Generalized linear models of many groups at once, with the numbers of statsmodels."""

from __future__ import annotations

import numpy as np

from shortloop.panel.batch import Batch, Columns
from shortloop.panel.kernels.covariance import KINDS
from shortloop.panel.kernels.families import FAMILIES
from shortloop.panel.kernels.irls import NUMBERS, fit_groups
from shortloop.panel.kernels.links import LINKS
from shortloop.panel.statistics import LEVEL, Covariance, Statistics
from shortloop.types import FloatArray, IntArray

__all__ = ["TOGETHER", "fit_glm", "warm_up"]

TOGETHER = {
    "binomial": ("logit", "probit", "cloglog"),
    "poisson": ("log", "identity", "sqrt"),
    "gamma": ("inverse_power", "log", "identity"),
    "gaussian": ("identity", "log"),
}
"""Links that there is compiled code for, by the family; the first is its own. Others may wander off on their
way, and rounding then grows without a sign."""


def fit_glm(
    columns: Columns,
    outcome: FloatArray,
    starts: IntArray,
    family: str,
    link: str | None = None,
    *,
    trials: FloatArray | None = None,
    covariance: Covariance = "nonrobust",
    clusters: IntArray | None = None,
    level: float = LEVEL,
) -> Statistics:
    """Fit a generalized linear model to each group of rows.

    Coefficients, standard errors and the number of iterations are those of ``statsmodels.api.GLM``. Fits that
    cannot be vouched for are left out, with a reason.

    Parameters
    ----------
    columns : Columns
        Regressors; the rows of a group one after the other.
    outcome : array, shape (rows,)
    starts : array of int64, shape (groups + 1,)
        First row of each group, and the end of the last.
    family, link : str
        One of `TOGETHER`. Default of the link: the family's own.
    trials : array of float64, shape (rows,), optional
        For "binomial": how many trials each outcome is a share of. Default: outcomes are 0 or 1.
    covariance : {"nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"}, default "nonrobust"
        Of the coefficients. HC0 to HC3 are the same here, as in statsmodels.
    clusters : array of int64, shape (rows,), optional
        For "cluster": numbers from 0 in each group, without gaps.
    level : float, default 0.95
        Of confidence intervals.

    Returns
    -------
    Statistics
    """
    batch = Batch(columns, outcome, starts, NUMBERS, clusters=clusters, trials=trials)
    which = FAMILIES.index(family), LINKS.index(link or TOGETHER[family][0])
    numbers = batch.run(fit_groups, *which, KINDS[covariance])
    return batch.statistics(level=level, **numbers)


def warm_up() -> None:
    """Load the machine code, so that processes forked later share it; compile it, if it never was."""
    rng = np.random.default_rng(0)
    fit_glm(rng.standard_normal((2, 12)), np.tile([0.0, 1.0], 6), np.array([0, 12]), "binomial")
