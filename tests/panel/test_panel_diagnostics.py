"""Residuals, leverage and the worst groups: as statsmodels and SciPy have them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shortloop.base.seeds import seed_for
from shortloop.base.types import FloatArray
from shortloop.panel.diagnostics.residuals import (
    CRITERIA,
    OUTLYING,
    SUMMARY,
    Rows,
    reason,
    rows_of,
    summary_of,
    worst,
)
from shortloop.panel.formulas.design import Design
from shortloop.panel.models.model import ModelSettings

SEED = seed_for(0, "rows")
GLMS = [
    ("binomial", None),
    ("binomial", "probit"),
    ("poisson", None),
    ("poisson", "sqrt"),
    ("gamma", "log"),
    ("gaussian", None),
]


def drawn(seed: int, kind: str = "ols", rows: int = 60, unit: float = 1.0) -> Design:
    rng = np.random.default_rng(seed)
    x = np.vstack([np.ones(rows), unit * rng.standard_normal(rows), rng.standard_t(3, rows)])
    mean = 1.0 + 0.5 * x[1] / unit - 0.2 * np.clip(x[2], -3, 3)
    outcome = {
        "binomial": lambda: (rng.uniform(size=rows) < 1 / (1 + np.exp(-mean))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(0.5 * mean) + 0.1).astype(float),
        "gamma": lambda: rng.gamma(2.0, np.exp(mean) / 2.0),
    }.get(kind, lambda: mean + rng.standard_t(4, rows))()
    return Design(("a", "b", "c"), x, outcome, {"weights": rng.uniform(0.1, 4.0, rows)})


def model_of(kind: str, **more: Any) -> ModelSettings:
    if kind == "wls":
        more["weights"] = "w"
    return ModelSettings.model_validate({"model": kind, "formula": "y ~ b + c", **more})


def found_of(design: Design, kind: str, **more: Any) -> tuple[Rows, Any]:
    model = model_of(kind, **more)
    roles = dict(design.roles) if kind == "wls" else {}
    design = Design(design.names, design.columns, design.outcome, roles)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = model.fit_one(design.outcome, np.ascontiguousarray(design.columns.T), roles)
    scale = float(getattr(theirs, "scale", np.nan))
    return said_of(model, design, np.asarray(theirs.params), scale), theirs


def said_of(model: ModelSettings, design: Design, params: FloatArray, scale: float) -> Rows:
    found = rows_of(model, design, params, scale, SEED)
    assert found is not None
    return found


@given(st.integers(0, 10_000), st.sampled_from([1e-6, 1.0, 1e6]))
@settings(max_examples=20, deadline=None)
def test_least_squares_is_as_its_influence(seed: int, unit: float) -> None:
    rows, theirs = found_of(drawn(seed, unit=unit, rows=40), "ols")
    influence = theirs.get_influence()
    standardized, cook = influence.resid_studentized_internal, influence.cooks_distance[0]
    np.testing.assert_allclose(rows.fitted, theirs.fittedvalues, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(rows.residuals, theirs.resid, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(rows.leverage, influence.hat_matrix_diag, rtol=1e-8)
    np.testing.assert_allclose(rows.standardized, standardized, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(rows.cook, cook, rtol=1e-6, atol=1e-12)
    assert rows.leverage.sum() == pytest.approx(3)
    found = summary_of(rows)
    assert found.keys() == SUMMARY.keys()
    assert found["outlying"] == pytest.approx((np.abs(standardized) > OUTLYING).mean())
    assert found["largest"] == pytest.approx(np.abs(standardized).max())
    assert found["jarque_bera"] == pytest.approx(stats.jarque_bera(standardized).statistic, rel=1e-6)
    assert found["leverage"] == pytest.approx(influence.hat_matrix_diag.max() * 40 / 3)
    assert found["cook"] == pytest.approx(cook.max(), rel=1e-6)
    assert found["agreement"] == pytest.approx(theirs.rsquared, rel=1e-8, abs=1e-10)


def test_weights_are_those_of_whitened_rows() -> None:
    rows, theirs = found_of(drawn(1), "wls")
    whitened = sm.OLS(theirs.model.wendog, theirs.model.wexog).fit().get_influence()
    np.testing.assert_allclose(rows.fitted, theirs.fittedvalues)
    np.testing.assert_allclose(rows.residuals, theirs.wresid, atol=1e-12)
    np.testing.assert_allclose(rows.leverage, whitened.hat_matrix_diag)
    np.testing.assert_allclose(rows.standardized, whitened.resid_studentized_internal)
    np.testing.assert_allclose(rows.cook, whitened.cooks_distance[0])


@pytest.mark.parametrize(("family", "link"), GLMS)
@pytest.mark.parametrize("seed", range(3))
def test_generalized_models_are_as_their_influence(family: str, link: str | None, seed: int) -> None:
    rows, theirs = found_of(drawn(seed, family), "glm", family=family, link=link)
    influence = theirs.get_influence(observed=False)
    np.testing.assert_allclose(rows.fitted, theirs.fittedvalues, rtol=1e-9)
    np.testing.assert_allclose(rows.predictor, theirs.predict(which="linear"), rtol=1e-9)
    np.testing.assert_allclose(rows.residuals, theirs.resid_pearson, rtol=1e-7, atol=1e-9)
    leverage = theirs.get_hat_matrix_diag(observed=False)
    np.testing.assert_allclose(rows.leverage, leverage, rtol=1e-7)
    studentized = theirs.resid_pearson / np.sqrt(theirs.scale * (1 - leverage))
    np.testing.assert_allclose(rows.standardized, studentized, rtol=1e-7, atol=1e-9)
    if link is None:  # where the expected information is the observed one
        np.testing.assert_allclose(rows.leverage, influence.hat_matrix_diag, rtol=1e-7)
        np.testing.assert_allclose(rows.standardized, influence.resid_studentized, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(rows.cook, influence.cooks_distance[0], rtol=1e-6, atol=1e-12)


def test_logit_is_the_binomial_model() -> None:
    design = drawn(4, "binomial")
    rows, theirs = found_of(design, "logit")
    as_glm, _ = found_of(design, "glm", family="binomial")
    np.testing.assert_allclose(rows.fitted, theirs.predict(), rtol=1e-12)
    np.testing.assert_allclose(rows.residuals, theirs.resid_pearson, rtol=1e-9)
    for name in ("fitted", "predictor", "residuals", "standardized", "normal", "leverage", "cook"):
        np.testing.assert_allclose(getattr(rows, name), getattr(as_glm, name), rtol=1e-5, err_msg=name)


@pytest.mark.parametrize(("family", "link"), GLMS)
def test_quantile_residuals_are_normal_where_the_model_holds(family: str, link: str | None) -> None:
    rng = np.random.default_rng(5)
    design = drawn(5, family, rows=3000)
    rows, theirs = found_of(design, "glm", family=family, link=link)
    mean, scale = rows.fitted, theirs.scale
    outcome = {
        "binomial": lambda: rng.binomial(1, mean),
        "poisson": lambda: rng.poisson(mean),
        "gamma": lambda: rng.gamma(1 / scale, mean * scale),
        "gaussian": lambda: rng.normal(mean, np.sqrt(scale)),
    }[family]()
    again = Design(design.names, design.columns, np.asarray(outcome, float), {})
    found = said_of(model_of("glm", family=family, link=link), again, theirs.params, scale)
    assert found.names[3] == "quantile residual"
    assert stats.kstest(found.normal, "norm").pvalue > 1e-3
    assert np.abs(found.normal).max() < 6


def test_quantile_residuals_are_of_the_distribution() -> None:
    design = drawn(6, "poisson")
    rows, _ = found_of(design, "glm", family="poisson")
    y, mean = design.outcome, rows.fitted
    u = np.random.default_rng(SEED).uniform(size=len(y))
    chance = (1 - u) * stats.poisson.cdf(y - 1, mean) + u * stats.poisson.cdf(y, mean)
    np.testing.assert_allclose(rows.normal, stats.norm.ppf(chance), rtol=1e-9, atol=1e-9)
    gamma, theirs = found_of(drawn(6, "gamma"), "glm", family="gamma", link="log")
    chance = stats.gamma.cdf(gamma.observed, 1 / theirs.scale, scale=gamma.fitted * theirs.scale)
    np.testing.assert_allclose(gamma.normal, stats.norm.ppf(chance), rtol=1e-8, atol=1e-9)


def test_quantile_residuals_of_far_counts_and_of_shares() -> None:
    design = drawn(7, "poisson")
    design.outcome[:2] = 0.0, 400.0
    rows, theirs = found_of(drawn(7, "poisson"), "glm", family="poisson")
    rows = said_of(model_of("glm", family="poisson"), design, theirs.params, 1.0)
    assert np.isfinite(rows.normal).all()
    assert rows.normal[1] > 20
    design = drawn(8, "binomial")
    shares = Design(design.names, design.columns, 0.2 + 0.5 * design.outcome)
    rows, _ = found_of(shares, "glm", family="binomial")
    assert rows.names[3] == "standardised Pearson residual"
    np.testing.assert_array_equal(rows.normal, rows.standardized)


def test_robust_and_quantile_models_have_no_cooks_distance() -> None:
    design = drawn(9)
    for kind in ("rlm", "quantreg"):
        rows, theirs = found_of(design, kind)
        np.testing.assert_allclose(rows.fitted, theirs.fittedvalues)
        np.testing.assert_allclose(rows.residuals, theirs.resid, atol=1e-12)
        hat = sm.OLS(design.outcome, design.columns.T).fit().get_influence().hat_matrix_diag
        np.testing.assert_allclose(rows.leverage, hat)
        assert not rows.has_cook
        assert np.isnan(summary_of(rows)["cook"])
        spread = theirs.scale if kind == "rlm" else stats.median_abs_deviation(theirs.resid, scale="normal")
        np.testing.assert_allclose(rows.standardized, theirs.resid / spread, rtol=1e-9)


def test_a_model_that_only_statsmodels_knows_is_asked_what_it_predicts() -> None:
    path = "statsmodels.discrete.discrete_model."
    design = drawn(10, "binomial")
    rows, theirs = found_of(design, "statsmodels", path=f"{path}Probit")
    np.testing.assert_allclose(rows.fitted, theirs.predict())
    np.testing.assert_allclose(rows.residuals, design.outcome - theirs.predict())
    classes = Design(design.names, design.columns, np.tile([0.0, 1.0, 2.0], 20))
    model = model_of("statsmodels", path=f"{path}MNLogit")  # which predicts no value for each row
    assert rows_of(model, classes, np.zeros(3), np.nan, SEED) is None


def test_a_row_that_alone_decides_its_fit_has_no_standardised_residual() -> None:
    x = np.vstack([np.ones(9), np.r_[1.0, np.zeros(8)]])
    y = np.arange(9.0)
    theirs = sm.OLS(y, x.T).fit()
    rows = said_of(model_of("ols"), Design(("a", "b"), x, y), theirs.params, theirs.scale)
    assert np.isnan(rows.standardized[0])
    assert np.isfinite(rows.standardized[1:]).all()
    assert all(np.isfinite(value) for value in summary_of(rows).values())


def summary(**given: list[float]) -> dict[str, FloatArray]:
    size = len(next(iter(given.values())))
    return {name: np.array(given.get(name, [np.nan] * size), float) for name in SUMMARY}


def test_the_worst_come_first_and_those_without_numbers_not_at_all() -> None:
    of_all = summary(outlying=[0.0, 0.1, np.nan, 0.1, 0.05], largest=[1, 4, np.nan, 5, 3.5])
    assert worst(of_all, "outliers", 3) == [3, 1, 4]
    assert worst(of_all, "outliers", 99) == [3, 1, 4, 0]
    assert worst(of_all, "outliers", 0) == []
    assert worst(summary(agreement=[0.5, 0.1, np.nan, 0.1]), "fit", 4) == [1, 3, 0]
    assert worst(summary(jarque_bera=[1, np.inf, 3]), "normality", 2) == [1, 2]
    assert worst(summary(cook=[0.1, np.nan, 0.3], leverage=[9, 9, 1]), "influence", 3) == [2, 0]
    assert worst(summary(leverage=[1, 3, 2]), "influence", 2) == [1, 2]
    assert worst(summary(leverage=[np.nan, np.nan]), "leverage", 2) == []


@pytest.mark.parametrize("by", CRITERIA)
def test_a_reason_is_in_words(by: Any) -> None:
    values = {"outlying": 0.0432, "largest": 5.4, "jarque_bera": 3.2, "cook": np.nan, "agreement": 0.2}
    assert "nan" not in reason({**values, "leverage": 7.0}, by)
