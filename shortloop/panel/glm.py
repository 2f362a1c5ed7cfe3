"""Generalized linear models of many groups at once, with the numbers of statsmodels."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.batch import Batch, Columns
from shortloop.panel.kernels.covariance import KINDS
from shortloop.panel.kernels.families import FAMILIES
from shortloop.panel.kernels.irls import NUMBERS, fit_groups
from shortloop.panel.kernels.links import LINKS
from shortloop.panel.statistics import LEVEL, Covariance, Statistics

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

    outcome: (rows,)
    starts: int64, (groups + 1,). First row of each group, and the end of the last.
    trials: float64, (rows,). For "binomial": how many trials each outcome is a share of.
    clusters: int64, (rows,). For "cluster": numbers from 0 in each group, without gaps.
    """
    batch = Batch(columns, outcome, starts, NUMBERS, clusters=clusters, trials=trials)
    which = FAMILIES.index(family), LINKS.index(link or TOGETHER[family][0])
    numbers = batch.run(fit_groups, *which, KINDS[covariance])
    return batch.statistics(level=level, **numbers)


def warm_up() -> None:
    """Load the machine code, so that processes forked later share it; compile it, if it never was."""
    rng = np.random.default_rng(0)
    fit_glm(rng.standard_normal((2, 12)), np.tile([0.0, 1.0], 6), np.array([0, 12]), "binomial")
