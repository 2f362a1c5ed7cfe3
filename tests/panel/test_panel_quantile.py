"""Quantile regressions of many groups: the optimum of a linear program, and what statsmodels says of it."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from cases import first_cases
from exact_quantiles import errors_of, is_unique, loss_of, optimum_of, results_at
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_fits import fit_groups, outcome_of_any_size, regressors_of_all_kinds

from shortloop.base.types import FloatArray
from shortloop.panel.frame import fit_frame
from shortloop.panel.statistics import Reason, Status


def mine(x: FloatArray, y: FloatArray, quantile: float = 0.5) -> SimpleNamespace:
    return fit_groups("quantreg", np.ascontiguousarray(x.T), y, np.array([0, len(y)]), quantile=quantile)


def by_statsmodels(x: FloatArray, y: FloatArray, quantile: float = 0.5) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sm.QuantReg(y, x).fit(q=quantile)


def judge(x: FloatArray, y: FloatArray, quantile: float, *, by_program: bool = True) -> bool:
    """Judge a fit, if there is one: True if compiled code vouches for it."""
    found, theirs = mine(x, y, quantile), by_statsmodels(x, y, quantile)
    params, errors = found.params[0], found.bse[0]
    if found.reasons[0] != Reason.VOUCHED:
        assert np.isnan(params).all()
        assert np.isnan(errors).all()
        return False
    loss = loss_of(x, y, params, quantile)
    rounding = 1e-12 * np.sum(np.abs(y) + np.abs(x * params).sum(axis=1))
    assert loss <= loss_of(x, y, theirs.params, quantile) + rounding
    assert found.converged[0] == 1.0
    if by_program:
        best = optimum_of(x, y, quantile)
        assert abs(loss - loss_of(x, y, best, quantile)) <= 1e-9 * loss + rounding
        if is_unique(x, y, params, quantile):
            size = np.maximum(np.abs(params), np.nan_to_num(errors, nan=np.inf))
            assert np.all(np.abs(params - best) <= 1e-7 * size)
    whole = loss_of(np.ones((len(y), 1)), y, np.percentile(y, [100.0 * quantile]), quantile)
    np.testing.assert_allclose(found.prsquared[0], 1.0 - loss / whole, atol=1e-9)
    np.testing.assert_allclose(found.condition_number[0], theirs.condition_number, rtol=1e-4)
    for name in ("nobs", "df_model", "df_resid", "scale"):
        assert getattr(found, name)[0] == getattr(theirs, name), name
    if np.isnan(theirs.bandwidth):
        assert np.isnan(errors).all()
        return True
    np.testing.assert_allclose(errors, errors_of(x, y, params, quantile), rtol=1e-7)
    np.testing.assert_allclose(found.tvalues[0], params / errors)
    tests = results_at(x, y, params, quantile)
    np.testing.assert_allclose(found.pvalues[0], tests.pvalues, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(np.transpose([found.lower[0], found.upper[0]]), tests.conf_int(), rtol=1e-6)
    return True


@st.composite
def problems(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, float]:
    """Regressors of all kinds; errors with long tails, of all sizes, or whole numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = regressors_of_all_kinds(draw, rng, sizes=5, rows=100, nearest=-2, units=1.0)
    y = x @ rng.standard_normal(x.shape[1])
    y += 10 ** draw(st.floats(-1, 1)) * rng.standard_t(draw(st.sampled_from([1, 3, 50])), len(x))
    y = outcome_of_any_size(draw, y, largest=2)
    return x, y, draw(st.sampled_from([0.5, 0.5, 0.25, 0.8, 0.05, 0.99]))


@first_cases(1, "examples", [40, 160])
def test_it_is_the_optimum(examples: int) -> None:
    @given(problems())
    @settings(max_examples=examples, deadline=None)
    def check(problem: tuple[FloatArray, FloatArray, float]) -> None:
        judge(*problem)

    check()


@first_cases(20, "seed", range(40))
def test_ties_do_not_lead_round_in_circles(seed: int) -> None:
    """Whole numbers on both sides: many fits are as good, through many rows each."""
    rng = np.random.default_rng(seed)
    rows, size = int(rng.integers(40, 200)), int(rng.integers(1, 7))
    x = rng.integers(0, 3, (rows, size)).astype(float)
    x[:, 0] = 1.0
    y = np.round(x @ rng.integers(-2, 3, size) + rng.standard_t(3, rows), int(rng.integers(0, 2)))
    quantile = float(rng.choice([0.5, 0.25, 0.9]))
    assert mine(x, y, quantile).reasons[0] in (Reason.VOUCHED, Reason.NO_VARIANCE)
    judge(x, y, quantile)


@pytest.mark.parametrize("quantile", [0.5, 0.25, 0.9])
def test_what_is_not_special_is_vouched_for(quantile: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = np.column_stack([np.ones(150), rng.standard_normal((150, 2))])
        assert judge(x, x @ rng.standard_normal(3) + rng.standard_t(3, 150), quantile, by_program=False)


@pytest.mark.parametrize("quantile", [0.5, 0.25, 0.75])
def test_engel(quantile: float) -> None:
    """Koenker and Bassett 1982, Robust tests for heteroscedasticity based on regression quantiles."""
    data = sm.datasets.engel.load_pandas().data
    x, y = sm.add_constant(data["income"]).to_numpy(float), data["foodexp"].to_numpy(float)
    assert judge(x, y, quantile)
    # As R's quantreg has it.
    known = {0.5: [81.48225, 0.56018], 0.25: [95.48354, 0.47410], 0.75: [62.39659, 0.64401]}
    np.testing.assert_allclose(mine(x, y, quantile).params[0], known[quantile], rtol=1e-5)


REAL = {
    "anes96": ("age", ["educ", "income", "TVnews", "selfLR"]),
    "fair": ("affairs", ["age", "yrs_married", "children", "educ"]),
    "randhie": ("mdvis", ["lncoins", "idp", "lpi", "disea"]),
    "stackloss": ("STACKLOSS", ["AIRFLOW", "WATERTEMP"]),
    "star98": ("NABOVE", ["LOWINC", "PERASIAN", "PERBLACK", "AVYRSEXP"]),
    "strikes": ("duration", ["iprod"]),
}
"""Data sets of statsmodels: an outcome, and regressors."""


@pytest.mark.parametrize("quantile", [0.5, 0.2])
@pytest.mark.parametrize("name", REAL)
def test_real_data(name: str, quantile: float) -> None:
    outcome, names = REAL[name]
    data = getattr(sm.datasets, name).load_pandas().data.iloc[:1500]
    assert judge(sm.add_constant(data[names]).to_numpy(float), data[outcome].to_numpy(float), quantile)


def test_statsmodels_may_stop_far_from_the_optimum() -> None:
    """With years as they are, it ends after 1,000 iterations at a seventh more of loss."""
    data = sm.datasets.fertility.load_pandas().data.set_index("Country Name")
    values = data.filter(regex="^[0-9]+$").loc["Other small states"].dropna()
    x, y = np.column_stack([np.ones(len(values)), values.index.astype(float)]), values.to_numpy()
    assert judge(x, y, 0.9)
    losses = [
        loss_of(x, y, of(x, y, 0.9), 0.9) for of in (optimum_of, lambda *of: by_statsmodels(*of).params)
    ]
    assert losses[1] > 1.1 * losses[0]


def test_few_rows_without_standard_errors_and_fits_that_do_not_converge() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": np.repeat([0, 1], [8, 200]), "x": rng.standard_normal(208)})
    frame["y"] = frame["x"] + rng.standard_normal(208)
    found = fit_frame(frame, ["g"], model="quantreg", formula="y ~ x", quantile=0.9)
    assert found.arrays["path"].tolist() == [0, 0]
    assert found.arrays["status"].tolist() == [Status.FAILED, Status.FITTED]
    assert "too few rows for standard errors" in found.said[0]
    assert np.isfinite(found.arrays["params"]).all()
    assert np.isnan(found.arrays["bse"]).all(axis=1).tolist() == [True, False]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": 0, "x": 1e7 + rng.standard_normal(50)})
    frame["y"] = frame["x"] + 1e4 * rng.standard_t(3, 50)
    found = fit_frame(frame, ["g"], model="quantreg", formula="y ~ x")
    assert found.arrays["path"][0] == 1
    x, y = np.column_stack([np.ones(50), frame["x"]]), frame["y"].to_numpy()
    theirs, params = by_statsmodels(x, y), np.asarray(found.arrays["params"][0])
    assert loss_of(x, y, params, 0.5) <= loss_of(x, y, np.asarray(theirs.params), 0.5) * (1.0 + 1e-9)
    stopped = found.arrays["iterations"][0] == 1000
    assert (found.arrays["status"][0] == Status.NOT_CONVERGED) == stopped
