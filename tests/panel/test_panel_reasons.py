"""Groups that compiled code leaves to statsmodels, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from panel_fits import fit_groups, without_answer

from shortloop.base.types import FloatArray
from shortloop.panel.statistics import Reason

Case = tuple[dict[str, Any], FloatArray, FloatArray, set[Reason]]
"""Settings of a model, regressors as statsmodels has them, outcomes, and possible reasons."""
DEPENDENT = {Reason.SINGULAR, Reason.ILL_CONDITIONED}  # rounding decides which
NO_MAXIMUM = {Reason.NEAR_BOUND, *DEPENDENT, Reason.NOT_CONVERGED}


def cases() -> dict[str, Case]:
    known = without_answer()
    x, y = known["ordinary"]
    ones, line = np.ones(60), x @ np.arange(1.0, x.shape[1] + 1)
    twice, zeros, few = (known[name] for name in ("a column twice", "a column of zeros", "few"))
    infinite, missing, exact = (known[name] for name in ("infinite", "missing", "no error"))
    near = np.column_stack([x, x[:, 1] + 1e-9 * y]), y
    alone = np.column_stack([x, np.arange(60) == 7])
    binary = (np.random.default_rng(5).uniform(size=60) < 0.5).astype(float)
    ols, rlm, quantile = {"model": "ols"}, {"model": "rlm"}, {"model": "quantreg"}
    cluster = {**ols, "covariance": "cluster", "clusters": (np.arange(60) % 4).astype(np.int64)}
    poisson = {"model": "glm", "family": "poisson"}
    found: dict[str, Case] = {
        "ols, errors that cancel": (
            {**ols, "covariance": "HC0"},
            np.eye(6)[:, :2],
            np.array([1.0, 2, 1, 1, 1, 1]),
            {Reason.NO_VARIANCE},
        ),
        "ols, a row of its own": ({**ols, "covariance": "HC3"}, alone, y, {Reason.LEVERAGE}),
        "ols, few clusters": (cluster, x, y, {Reason.FEW_CLUSTERS}),
        "ols, outcomes alike": (ols, x, ones, {Reason.EXACT_FIT}),
        "ols, outcomes of zero": (ols, x, 0 * y, {Reason.EXACT_FIT}),
        "ols, no error": (ols, x, line, {Reason.EXACT_FIT}),
        "rlm, no error": (rlm, *exact, {Reason.EXACT_FIT, Reason.ILL_CONDITIONED}),
        "rlm, outcomes of zero": (rlm, x, 0 * y, {Reason.EXACT_FIT}),
        "rlm, most on a line": (
            rlm,
            x[:, :1],
            np.where(np.arange(60) < 40, 2.0, y),
            {Reason.EXACT_FIT, Reason.ILL_CONDITIONED, Reason.NOT_CONVERGED},
        ),
        "rlm, the median is the bound": (
            {**rlm, "t": 0.6744897501960817},
            x[:59],
            y[:59],
            {Reason.UNCLEAR_WEIGHT},
        ),
        "rlm, tiny": (rlm, x, 1e-9 * y, {Reason.NOT_CONVERGED}),
        "quantreg, no error": (quantile, *exact, {Reason.NO_VARIANCE}),
        "quantreg, all alike": (quantile, x, ones, {Reason.NO_VARIANCE}),
        "quantreg, most alike": (
            quantile,
            x[:, :1],
            np.where(np.arange(60) < 50, 0.0, y),
            {Reason.NO_VARIANCE},
        ),
        "poisson, negative": (poisson, x, binary - 1, {Reason.OUTSIDE}),
        "poisson, all zero": (poisson, x, 0 * y, {Reason.OUTSIDE, Reason.SINGULAR}),
        "gamma, zero": ({"model": "glm", "family": "gamma", "link": "log"}, x, binary, {Reason.OUTSIDE}),
    }
    for model in (ols, rlm, quantile):
        found |= {
            f"{model['model']}, a column twice": (model, *twice, DEPENDENT),
            f"{model['model']}, nearly twice": (model, *near, DEPENDENT),
            f"{model['model']}, a column of zeros": (model, *zeros, {Reason.SINGULAR}),
            f"{model['model']}, few": (model, *few, {Reason.TOO_FEW_ROWS}),
            f"{model['model']}, infinite": (model, *infinite, {Reason.NOT_FINITE}),
            f"{model['model']}, missing": (model, *missing, {Reason.NOT_FINITE}),
        }
    for model in ({"model": "logit"}, {"model": "glm", "family": "binomial"}):
        lacking = {Reason.NOT_BINARY, Reason.NOT_FINITE}
        found |= {
            f"{model['model']}, separated": (model, x, (x[:, 1] > 0).astype(float), NO_MAXIMUM),
            f"{model['model']}, a column twice": (model, twice[0], binary, DEPENDENT),
            f"{model['model']}, no other": (model, x, ones, NO_MAXIMUM),
            f"{model['model']}, a half": (model, x, np.where(binary == 1, 0.5, 0.0), {Reason.NOT_BINARY}),
            f"{model['model']}, missing": (model, x, np.where(binary == 1, np.nan, 0.0), lacking),
            f"{model['model']}, few": (model, x[:3], binary[:3], {Reason.TOO_FEW_ROWS}),
            f"{model['model']}, infinite": (model, infinite[0], binary, {Reason.NOT_FINITE, Reason.SINGULAR}),
        }
    return found


@pytest.mark.parametrize("name", cases())
def test_what_compiled_code_cannot_vouch_for(name: str) -> None:
    settings, x, y, reasons = cases()[name]
    model, more = settings["model"], {each: settings[each] for each in settings if each != "model"}
    found = fit_groups(model, np.ascontiguousarray(x.T), y, np.array([0, len(y)]), **more)
    assert found.reasons[0] in reasons
    assert np.isnan(found.params).all()
    assert np.isnan(found.pvalues).all()
