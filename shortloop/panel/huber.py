"""Robust regressions of many groups at once, with the numbers of statsmodels."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.batch import Batch, Columns
from shortloop.panel.kernels.huber import NUMBERS, fit_groups
from shortloop.panel.statistics import LEVEL, Statistics

__all__ = ["BOUND", "fit_huber", "warm_up"]

BOUND = 1.345


def fit_huber(
    columns: Columns, outcome: FloatArray, starts: IntArray, bound: float = BOUND, *, level: float = LEVEL
) -> Statistics:
    """Fit a robust regression with Huber's weights to each group of rows.

    Coefficients, standard errors and the number of iterations are those of ``statsmodels.api.RLM`` with
    ``HuberT``: the scale is the median of absolute residuals, found again in each iteration; covariances are
    ``H1``. Fits that cannot be vouched for are left out, with a reason.

    outcome: (rows,)
    starts: int64, (groups + 1,). First row of each group, and the end of the last.
    """
    batch = Batch(columns, outcome, starts, NUMBERS)
    return batch.statistics(level=level, **batch.run(fit_groups, bound))


def warm_up() -> None:
    """Load the machine code, so that processes forked later share it; compile it, if it never was."""
    rows = np.random.default_rng(0).standard_normal((3, 12))
    fit_huber(rows[:2], rows[2], np.array([0, 12]))
