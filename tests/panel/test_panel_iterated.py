"""Logistic regressions and generalized linear models of many groups: the path of statsmodels, fit by fit."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_fits import assert_same_tests, fit_groups

from shortloop.base.types import FloatArray
from shortloop.panel.models.glm import COMPILED
from shortloop.panel.models.model import ModelSettings
from shortloop.panel.statistics import Reason

KINDS = [("logit", ""), *((family, link) for family, links in COMPILED.items() for link in links)]


def mine(kind: tuple[str, str], x: FloatArray, y: FloatArray, **more: Any) -> SimpleNamespace:
    columns, starts = np.ascontiguousarray(x.T), np.array([0, len(y)])
    if kind[0] == "logit":
        return fit_groups("logit", columns, y, starts, **more)
    return fit_groups("glm", columns, y, starts, family=kind[0], link=kind[1], **more)


def by_statsmodels(kind: tuple[str, str], x: FloatArray, y: FloatArray, **more: Any) -> Any:
    settings: dict[str, Any] = {"formula": "y ~ x", "covariance": more.get("covariance", "nonrobust")}
    if settings["covariance"] == "cluster":
        settings["clusters"] = "of"
    settings |= (
        {"model": "logit"} if kind[0] == "logit" else {"model": "glm", "family": kind[0], "link": kind[1]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ModelSettings.model_validate(settings).fit_one(y, x, more)


def same(found: SimpleNamespace, theirs: Any, g: int = 0) -> None:
    assert_same_tests(found, theirs, g, errors=1e-8)
    for name in ("llf", "aic", "deviance", "scale"):
        if hasattr(theirs, name) and np.isfinite(getattr(found, name)[g]):
            np.testing.assert_allclose(
                getattr(found, name)[g], getattr(theirs, name), rtol=1e-8, atol=1e-8, err_msg=name
            )
    history = getattr(theirs, "fit_history", None)
    iterations = theirs.mle_retvals["iterations"] if history is None else history["iteration"]
    assert found.iterations[g] == iterations
    if history is None:
        np.testing.assert_allclose(found.prsquared[g], theirs.prsquared, rtol=1e-6, atol=1e-8)


def outcomes(kind: tuple[str, str], x: FloatArray, beta: FloatArray, rng: np.random.Generator) -> FloatArray:
    family, link = kind
    eta = x @ beta
    eta = 0.7 * (eta - eta.mean()) / (eta.std() + 1e-9)
    if family in ("logit", "binomial"):
        return (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-eta))).astype(float)
    if family == "gaussian":
        mean = {"identity": eta, "log": np.exp(eta)}[link]
        return mean + 0.3 * rng.standard_normal(len(x))
    mean = np.exp(0.5 * eta + 1.0)
    return rng.poisson(mean).astype(float) if family == "poisson" else rng.gamma(2.0, mean / 2.0) + 1e-3


@st.composite
def problems(draw: st.DrawFn) -> tuple[tuple[str, str], FloatArray, FloatArray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind, size = draw(st.sampled_from(KINDS)), draw(st.integers(1, 6))
    rows = draw(st.integers(size + 2, 150))
    x = rng.standard_normal((rows, size))
    if draw(st.booleans()):
        x = rng.integers(0, 3, (rows, size)).astype(float)
    if draw(st.booleans()) and size > 1:
        x[:, 1] = x[:, 0] + 10 ** draw(st.floats(-5, 0)) * rng.standard_normal(rows)
    if draw(st.integers(0, 3)):
        x[:, 0] = 1.0
    x *= 10.0 ** rng.uniform(-draw(st.floats(0, 1.5)), draw(st.floats(0, 1.5)), size)
    return kind, x, outcomes(kind, x, rng.standard_normal(size), rng)


@given(problems())
@settings(max_examples=150, deadline=None)
def test_it_is_what_statsmodels_says(problem: tuple[tuple[str, str], FloatArray, FloatArray]) -> None:
    kind, x, y = problem
    found = mine(kind, x, y)
    if found.reasons[0] == Reason.VOUCHED:
        same(found, by_statsmodels(kind, x, y))
    else:
        assert np.isnan(found.params).all()
        assert np.isnan(found.bse).all()
        assert np.isnan(found.llf).all()


@given(problems(), st.sampled_from(["HC0", "HC1", "HC2", "HC3", "cluster"]), st.integers(2, 30))
@settings(max_examples=100, deadline=None)
def test_covariances_that_allow_for_errors_that_differ(
    problem: tuple[tuple[str, str], FloatArray, FloatArray], covariance: str, clusters: int
) -> None:
    kind, x, y = problem
    more: dict[str, Any] = {"covariance": covariance}
    if covariance == "cluster":
        codes = np.random.default_rng(len(y)).integers(0, clusters, len(y))
        more["clusters"] = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    found = mine(kind, x, y, **more)
    if found.reasons[0] == Reason.VOUCHED:
        same(found, by_statsmodels(kind, x, y, **more))
    else:
        assert np.isnan(found.bse).all()


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_what_is_not_special_is_vouched_for(kind: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    bounded = [
        ("poisson", "identity"),
        ("gamma", "identity"),
        ("gamma", "inverse_power"),
        ("gaussian", "log"),
    ]
    vouched = 0
    for covariance in ("nonrobust", "nonrobust", "nonrobust", "HC1", "cluster"):
        x = np.column_stack([np.ones(200), rng.standard_normal((200, 2))])
        y = outcomes(kind, x, np.array([0.3, 1.0, -0.5]), rng)
        more = {"covariance": covariance, "clusters": np.arange(200) % 20}
        found = mine(kind, x, y, **more)
        if found.reasons[0] == Reason.VOUCHED:
            vouched += 1
            same(found, by_statsmodels(kind, x, y, **more))
        else:  # means or outcomes may leave the bounds of some links
            assert kind in bounded
            assert found.reasons[0] == Reason.OUTSIDE
    assert vouched >= 3


def test_spector() -> None:
    data = sm.datasets.spector.load_pandas()
    x, y = sm.add_constant(data.exog).to_numpy(float), data.endog.to_numpy(float)
    for kind in (KINDS[0], ("binomial", "logit"), ("binomial", "probit"), ("binomial", "cloglog")):
        found = mine(kind, x, y)
        assert found.reasons[0] == Reason.VOUCHED
        same(found, by_statsmodels(kind, x, y))
    # Greene (2003), Econometric Analysis, table 21.1.
    logit = mine(KINDS[0], x, y)
    np.testing.assert_allclose(logit.params[0], [-13.021, 2.826, 0.095, 2.379], atol=5e-4)
    np.testing.assert_allclose(logit.bse[0], [4.931, 1.263, 0.142, 1.065], atol=5e-4)


@pytest.mark.parametrize("name", ["cpunish", "scotland"])
def test_published_models(name: str) -> None:
    data = getattr(sm.datasets, name).load_pandas()
    x, y = sm.add_constant(data.exog).to_numpy(float), data.endog.to_numpy(float)
    kind = {"cpunish": ("poisson", "log"), "scotland": ("gamma", "inverse_power")}[name]
    assert mine(kind, x, y).reasons[0] == Reason.ILL_CONDITIONED  # that of raw regressors is beyond a million
    x[:, 1:] = (x[:, 1:] - x[:, 1:].mean(axis=0)) / x[:, 1:].std(axis=0)
    found = mine(kind, x, y)
    assert found.reasons[0] == Reason.VOUCHED
    same(found, by_statsmodels(kind, x, y))


@pytest.mark.parametrize("unit", [1e-5, 1e-3, 1.0, 1e3, 1e4, 1e5, 1e8, 1e9, 1e10, 1e12])
def test_quasi_separation_is_left_out_in_any_unit(unit: float) -> None:
    rng = np.random.default_rng(1)
    a = np.repeat([0.0, 1.0], 40)
    y = np.where(a == 1, 1.0, rng.integers(0, 2, 80))
    other = rng.standard_normal(80)
    for columns in ([a], [np.ones(80), a], [a, other], [np.ones(80), a, other]):
        for x in (unit * np.column_stack(columns), np.column_stack([*columns[:-1], unit * columns[-1]])):
            for kind in (KINDS[0], ("binomial", "logit")):
                assert mine(kind, x, y).reasons[0] != Reason.VOUCHED
