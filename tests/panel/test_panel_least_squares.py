"""Least squares of many groups: the numbers of statsmodels, fit by fit, or a reason why not."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_fits import COUNTS, assert_same_tests, fit_groups

from shortloop.base.types import FloatArray
from shortloop.panel.models.model import Covariance
from shortloop.panel.statistics import Reason

KINDS: list[Covariance] = ["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster"]
WHOLE = ("llf", "aic", "bic", "scale", "rsquared", "rsquared_adj")


def one(x: FloatArray, y: FloatArray, **more: Any) -> SimpleNamespace:
    """Fit one group, rows by coefficients as statsmodels has them."""
    return fit_groups("ols", np.ascontiguousarray(x.T), y, np.array([0, len(y)]), **more)


def by_statsmodels(x: FloatArray, y: FloatArray, **more: Any) -> Any:
    weights, covariance = more.get("weights"), more.get("covariance", "nonrobust")
    model = sm.OLS(y, x) if weights is None else sm.WLS(y, x, weights=weights)
    known = {"groups": more["clusters"]} if covariance == "cluster" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(cov_type=covariance, cov_kwds=known)


def by_deviations(x: FloatArray, y: FloatArray, **more: Any) -> Any:
    """The same with a constant first, by deviations from means, of which statsmodels loses no digits."""
    means = np.average(x, axis=0, weights=more.get("weights"))
    means[0] = 0.0
    results, raw = by_statsmodels(x - means, y, **more), by_statsmodels(x, y, **more)
    back = np.eye(len(means))
    back[0, 1:] = -means[1:] / x[0, 0]
    tests = results.t_test(back)
    found = {name: getattr(results, name) for name in (*WHOLE, *COUNTS, "fvalue", "f_pvalue", "cov_type")}
    found |= {"params": tests.effect, "bse": tests.sd.ravel(), "tvalues": tests.tvalue.ravel()}
    found |= {"pvalues": tests.pvalue.ravel(), "conf_int": tests.conf_int}
    return SimpleNamespace(**{**found, "condition_number": raw.condition_number})


def same(mine: SimpleNamespace, theirs: Any, g: int = 0) -> None:
    """See that a fit is that of statsmodels."""
    # statsmodels has leverages, and what is around sums over clusters, from an inverse, which loses digits
    # with the square of the condition.
    inverted = theirs.cov_type in ("HC2", "HC3", "cluster")
    lost = 4e-15 * mine.condition_number[g] ** 2 if inverted else 0.0
    assert_same_tests(mine, theirs, g, errors=1e-9 + lost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*WHOLE, "condition_number"):
            np.testing.assert_allclose(
                getattr(mine, name)[g], getattr(theirs, name), rtol=1e-8, atol=1e-9, err_msg=name
            )
        # F needs the inverse of what is inverted: see below for how far statsmodels is off then.
        np.testing.assert_allclose(mine.fvalue[g], theirs.fvalue, rtol=1e-6 + 1000 * lost, err_msg="fvalue")
        np.testing.assert_allclose(
            mine.f_pvalue[g], theirs.f_pvalue, rtol=1e-5 + 1e4 * lost, atol=1e-12, err_msg="f_pvalue"
        )


@st.composite
def problems(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, dict[str, Any]]:
    """Regressors of all kinds, up to a condition of a million; weights; clusters."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 7))
    rows = draw(st.integers(size + 1, 90))
    x = rng.standard_normal((rows, size))
    if draw(st.booleans()):
        x = rng.integers(0, 3, (rows, size)).astype(float)
    if draw(st.booleans()) and size > 1:
        x[:, 1] = x[:, 0] + 10 ** draw(st.floats(-6, 0)) * rng.standard_normal(rows)
    constant = draw(st.sampled_from(["none", "first", "last", "sevens", "implicit", "two"]))
    if constant in ("first", "two"):
        x[:, 0] = 1.0
    if constant == "last":
        x[:, -1] = 1.0
    if constant == "sevens":
        x[:, 0] = -7.0
    if constant == "implicit" and size > 1:
        x[:, 0] = np.arange(rows) % 2
        x[:, 1] = 1 - x[:, 0]
    if constant == "two" and size > 1:
        x[:, 1] = 3.0
    x *= 10.0 ** rng.uniform(-draw(st.floats(0, 2)), draw(st.floats(0, 2)), size)
    x += draw(st.sampled_from([0.0, 0.0, 100.0]))
    y = x @ rng.standard_normal(size) + 10 ** draw(st.floats(-4, 4)) * rng.standard_normal(rows)
    more: dict[str, Any] = {"covariance": draw(st.sampled_from(KINDS))}
    if draw(st.booleans()):
        more["weights"] = 10.0 ** rng.uniform(-1, 1, rows)
    if more["covariance"] == "cluster":
        codes = rng.integers(0, draw(st.integers(2, 30)), rows)
        more["clusters"] = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    return x, y, more


@given(problems())
@settings(max_examples=150, deadline=None)
def test_it_is_what_statsmodels_says(problem: tuple[FloatArray, FloatArray, dict[str, Any]]) -> None:
    x, y, more = problem
    mine = one(x, y, **more)
    if mine.reasons[0] == Reason.VOUCHED:
        has_constant = np.ptp(x[:, 0]) == 0.0 and len(x.T) > 1
        same(mine, (by_deviations if has_constant else by_statsmodels)(x, y, **more))
    else:
        assert np.isnan(mine.params).all()
        assert np.isnan(mine.bse).all()
        assert np.isnan(mine.rsquared).all()


def test_sums_over_clusters_are_right_where_statsmodels_loses_digits() -> None:
    rng = np.random.default_rng(8)
    x, y = 100.0 + 0.05 * rng.standard_normal((9, 2)), 120.0 + 6.0 * rng.standard_normal(9)
    clusters = np.array([2, 1, 3, 0, 2, 2, 3, 2, 1])
    mine = one(x, y, covariance="cluster", clusters=clusters)
    assert mine.reasons[0] == Reason.VOUCHED
    rows = [[Fraction(value) for value in row] for row in x]  # exact, but for the last root
    outcome = [Fraction(value) for value in y]
    a, b, c = (sum(row[i] * row[j] for row in rows) for i, j in ((0, 0), (0, 1), (1, 1)))
    bread = [[c / (a * c - b * b), -b / (a * c - b * b)], [-b / (a * c - b * b), a / (a * c - b * b)]]
    right = [sum(row[i] * each for row, each in zip(rows, outcome)) for i in range(2)]
    beta = [sum(bread[i][j] * right[j] for j in range(2)) for i in range(2)]
    errors = [each - sum(row[i] * beta[i] for i in range(2)) for row, each in zip(rows, outcome)]
    sums = [
        [sum(rows[n][i] * errors[n] for n in range(9) if clusters[n] == g) for i in range(2)]
        for g in range(4)
    ]
    scores = [[sum(bread[i][j] * each[j] for j in range(2)) for i in range(2)] for each in sums]
    (v, w), (_, u) = [
        [sum(each[i] * each[j] for each in scores) * Fraction(4, 3) * Fraction(8, 7) for j in range(2)]
        for i in range(2)
    ]
    assert mine.bse[0] == pytest.approx([math.sqrt(v), math.sqrt(u)], rel=1e-10)
    squares = u * beta[0] ** 2 - 2 * w * beta[0] * beta[1] + v * beta[1] ** 2
    assert mine.fvalue[0] == pytest.approx(float(squares / (v * u - w * w) / 2), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_special_is_vouched_for(kind: Covariance) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(30, 200, 50)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows = int(starts[-1])
    x = rng.standard_normal((rows, 5)) * [1, 10, 0.1, 1, 1] + 2
    x[:, 0] = 1
    y = x @ rng.standard_normal(5) + rng.standard_normal(rows)
    weights = rng.uniform(0.1, 3, rows)
    clusters = np.concatenate([np.arange(size) % 12 for size in sizes])
    found = fit_groups(
        "ols", np.ascontiguousarray(x.T), y, starts, weights=weights, covariance=kind, clusters=clusters
    )
    assert (found.reasons == Reason.VOUCHED).all()
    for g, (first, last) in enumerate(pairwise(starts)):
        part = slice(first, last)
        theirs = by_statsmodels(
            x[part], y[part], weights=weights[part], covariance=kind, clusters=clusters[part]
        )
        same(found, theirs, g)


def test_longley_is_as_certified() -> None:
    """NIST's data, with a condition of five thousand million, and its certified numbers."""
    data = sm.datasets.longley.load_pandas()
    found = one(sm.add_constant(data.exog).to_numpy(float), data.endog.to_numpy(float))
    assert found.reasons[0] == Reason.VOUCHED
    params = [-3482258.63459582, 15.0618722713733, -0.0358191792925910, -2.02022980381683]
    params += [-1.03322686717359, -0.0511041056535807, 1829.15146461355]
    errors = [890420.383607373, 84.9149257747669, 0.0334910077722432, 0.488399681651699]
    errors += [0.214274163161675, 0.226073200069370, 455.478499142212]
    np.testing.assert_allclose(found.params[0], params, rtol=1e-11)
    np.testing.assert_allclose(found.bse[0], errors, rtol=1e-11)
    assert found.rsquared[0] == pytest.approx(0.995479004577296, rel=1e-12)
    assert found.fvalue[0] == pytest.approx(330.285339234588, rel=1e-11)


def exactly(x: FloatArray, y: FloatArray, weights: FloatArray) -> list[float]:
    """Coefficients by fractions."""
    rows = [[Fraction(value) for value in row] for row in x.tolist()]
    sides = zip(rows, map(Fraction, y.tolist()), map(Fraction, weights.tolist()))
    sums = [[Fraction(0)] * (len(rows[0]) + 1) for _ in rows[0]]
    for row, value, weight in sides:
        for i, left in enumerate(row):
            for j, right in enumerate([*row, value]):
                sums[i][j] += weight * left * right
    for i, pivot in enumerate(sums):
        pivot[:] = [each / pivot[i] for each in pivot]
        for other in sums:
            if other is not pivot:
                other[:] = [each - other[i] * mine for each, mine in zip(other, pivot)]
    return [float(each[-1]) for each in sums]


@st.composite
def far_from_zero(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Regressors that vary little beside their size, as years do, after a constant."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(2, 4))
    rows = draw(st.integers(size + 2, 25))
    x = 10 ** draw(st.floats(2, 6)) + 10 ** draw(st.floats(-2, 1)) * rng.standard_normal((rows, size))
    if draw(st.booleans()):
        x = np.round(x, 1)
    x[:, 0] = draw(st.sampled_from([1.0, -7.0]))
    x *= 10.0 ** rng.uniform(-3, 3, size) if draw(st.booleans()) else 1.0
    slopes = rng.standard_normal(size) / x.std(axis=0).clip(1e-300)
    slopes[0] = rng.standard_normal()
    y = x @ slopes + 10 ** draw(st.floats(-2, 2)) * rng.standard_normal(rows)
    return x, y, 10.0 ** rng.uniform(-1, 1, rows) if draw(st.booleans()) else np.ones(rows)


@given(far_from_zero())
@settings(max_examples=60, deadline=None)
def test_deviations_from_means_have_all_digits(problem: tuple[FloatArray, FloatArray, FloatArray]) -> None:
    x, y, weights = problem
    found = one(x, y, weights=weights)
    if found.reasons[0] == Reason.VOUCHED:
        size = np.maximum(np.abs(found.params[0]), found.bse[0])
        assert np.all(np.abs(found.params[0] - exactly(x, y, weights)) <= 1e-9 * size)
        return
    deviations = x[:, 1:] - x[:, 1:].mean(axis=0)
    spread = np.abs(x[:, 1:]).max(axis=0) / deviations.std(axis=0).clip(1e-300)
    condition = np.linalg.cond(deviations / deviations.std(axis=0).clip(1e-300))
    assert spread.max() * condition > 1e6 or np.linalg.norm(y) / found_residual(x, y) > 1e3


def found_residual(x: FloatArray, y: FloatArray) -> float:
    centred = np.column_stack([x[:, :1], x[:, 1:] - x[:, 1:].mean(axis=0)])
    return float(np.linalg.norm(y - centred @ np.linalg.lstsq(centred, y)[0]))
