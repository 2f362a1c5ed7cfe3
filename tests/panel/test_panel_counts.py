"""Outcomes of two columns, successes and failures: as statsmodels reads them."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_fits import fit_groups
from refusal import refusal
from scipy import stats

from shortloop.base.seeds import seed_for
from shortloop.base.types import FloatArray
from shortloop.panel.diagnostics.residuals import Rows, rows_of
from shortloop.panel.formulas.design import Design
from shortloop.panel.frame import fit_frame
from shortloop.panel.models.glm import COMPILED
from shortloop.panel.models.model import ModelSettings
from shortloop.panel.results import Results
from shortloop.panel.statistics import STATUSES, Reason, Status

LINKS = COMPILED["binomial"]
STAR98 = (
    "NABOVE + NBELOW ~ LOWINC + PERASIAN + PERBLACK + PERHISP + PERMINTE + AVYRSEXP + AVSALK + PERSPENK"
    " + PTRATIO + PCTAF + PCTCHRT + PCTYRRND + PERMINTE_AVYRSEXP + PERMINTE_AVSAL + AVYRSEXP_AVSAL"
    " + PERSPEN_PTRATIO + PERSPEN_PCTAF + PTRATIO_PCTAF + PERMINTE_AVYRSEXP_AVSAL + PERSPEN_PTRATIO_PCTAF"
)
FEW = "NABOVE + NBELOW ~ LOWINC + PERASIAN + PERBLACK"


def model_of(**more: Any) -> ModelSettings:
    return ModelSettings.model_validate({"model": "glm", "family": "binomial", "formula": "a + b ~ x"} | more)


def by_statsmodels(x: FloatArray, successes: FloatArray, failures: FloatArray, **more: Any) -> Any:
    roles = {"successes": successes, "failures": failures}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model_of(**more).fit_one(successes / (successes + failures), x, roles)


def mine(
    x: FloatArray, successes: FloatArray, failures: FloatArray, link: str, **more: Any
) -> SimpleNamespace:
    with np.errstate(all="ignore"):
        share = successes / (successes + failures)
    columns, starts, counts = np.ascontiguousarray(x.T), np.array([0, len(x)]), (successes, failures)
    return fit_groups("glm", columns, share, starts, counts=counts, family="binomial", link=link, **more)


def same(found: SimpleNamespace, theirs: Any) -> None:
    scale = np.maximum(np.abs(theirs.params), theirs.bse)
    assert np.all(np.abs(found.params[0] - theirs.params) <= 1e-9 * scale)
    np.testing.assert_allclose(found.bse[0], theirs.bse, rtol=1e-8)
    np.testing.assert_allclose(found.pvalues[0], theirs.pvalues, rtol=1e-6, atol=1e-9)
    for name in ("nobs", "df_model", "df_resid", "scale"):
        assert getattr(found, name)[0] == getattr(theirs, name), name
    for name in ("llf", "aic", "deviance"):
        expected = getattr(theirs, name)
        assert getattr(found, name)[0] == pytest.approx(expected, rel=1e-8, abs=1e-6), name
    assert found.bic[0] == pytest.approx(theirs.bic_llf, rel=1e-8, abs=1e-6)
    assert found.iterations[0] == theirs.fit_history["iteration"]


@st.composite
def problems(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, FloatArray, str]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(1, 5))
    rows = draw(st.integers(size + 2, 80))
    x = rng.standard_normal((rows, size))
    if draw(st.booleans()) and size > 1:
        x[:, 1] = x[:, 0] + 10 ** draw(st.floats(-5, 0)) * rng.standard_normal(rows)
    if draw(st.booleans()):
        x[:, 0] = 1.0
    x *= 10.0 ** rng.uniform(-draw(st.floats(0, 1.5)), draw(st.floats(0, 1.5)), size)
    eta = x @ rng.standard_normal(size)
    eta = draw(st.sampled_from([0.3, 1.0, 4.0])) * (eta - eta.mean()) / (eta.std() + 1e-9)
    most = draw(st.sampled_from([1, 2, 10, 1000, 10**6, 10**12]))
    trials = np.floor(10 ** rng.uniform(0, np.log10(most), rows)) if most > 1 else np.ones(rows)
    successes = rng.binomial(trials.astype(np.int64), 1 / (1 + np.exp(-eta))).astype(float)
    if draw(st.integers(0, 4)) == 0:  # weights of successes need not be whole numbers
        trials, successes = trials * 0.37, successes * 0.37
    return x, successes, trials - successes, draw(st.sampled_from(LINKS))


@given(problems(), st.sampled_from(["nonrobust", "HC0", "cluster"]))
@settings(max_examples=60, deadline=None)
def test_as_by_statsmodels(problem: tuple[FloatArray, FloatArray, FloatArray, str], covariance: str) -> None:
    x, successes, failures, link = problem
    more: dict[str, Any] = {"covariance": covariance}
    if covariance == "cluster":
        more["clusters"] = np.unique(np.arange(len(x)) % 11, return_inverse=True)[1].astype(np.int64)
    found = mine(x, successes, failures, link, **more)
    if found.reasons[0] != Reason.VOUCHED:
        assert np.isnan(found.params).all()
        return
    roles = {"successes": successes, "failures": failures} | more
    settings = {"link": link, "covariance": covariance} | ({"clusters": "c"} if "clusters" in more else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(found, model_of(**settings).fit_one(successes / (successes + failures), x, roles))


@pytest.mark.parametrize("most", [1, 30, 10**5])
@pytest.mark.parametrize("link", LINKS)
def test_what_is_not_special_is_vouched_for(link: str, most: int) -> None:
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(100), rng.standard_normal((100, 2))])
    trials = rng.integers(1, most + 1, 100)
    successes = rng.binomial(trials, 1 / (1 + np.exp(-x @ [0.2, 0.5, -0.3]))).astype(float)
    found = mine(x, successes, trials - successes, link)
    assert found.reasons[0] == Reason.VOUCHED
    same(found, by_statsmodels(x, successes, trials - successes, link=link))


def test_a_row_of_counts_is_as_many_rows() -> None:
    """But for what goes by the number of rows."""
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(40), rng.standard_normal(40)])
    successes, failures = rng.integers(0, 9, 40).astype(float), rng.integers(1, 9, 40).astype(float)
    together = mine(x, successes, failures, "logit")
    rows = np.repeat(np.concatenate([x, x]), np.concatenate([successes, failures]).astype(int), axis=0)
    outcome = np.repeat([1.0, 0.0], [int(successes.sum()), int(failures.sum())])
    alone = fit_groups(
        "glm", np.ascontiguousarray(rows.T), outcome, np.array([0, len(rows)]), family="binomial"
    )
    np.testing.assert_allclose(together.params, alone.params, rtol=1e-6)
    np.testing.assert_allclose(together.bse, alone.bse, rtol=1e-4)
    ones = mine(rows, outcome, 1.0 - outcome, "logit")
    for name in ("params", "bse", "llf", "deviance", "iterations"):
        np.testing.assert_allclose(getattr(ones, name), getattr(alone, name), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("successes", "failures", "reason"),
    [
        ([3.0, np.inf, 2.0, 1.0], 1.0, Reason.NOT_FINITE),
        ([3.0, -1.0, 2.0, 1.0], 5.0, Reason.OUTSIDE),
        ([0.0, 0.0, 2.0, 1.0], [0.0, 4.0, 2.0, 2.0], Reason.NOT_FINITE),
        ([1.0, 2.0, 3.0, 4.0], [3.0, 6.0, 9.0, 12.0], Reason.EXACT_FIT),
    ],
)
def test_what_it_cannot_vouch_for(successes: list[float], failures: Any, reason: int) -> None:
    a, b = np.array(successes * 5), np.broadcast_to(np.array(failures), 4)
    x = np.column_stack([np.ones(20), np.arange(20.0) % 7])
    assert mine(x, a, np.tile(b, 5), "logit").reasons[0] == reason


def test_the_example_of_the_library() -> None:
    """Gill 2001 (Generalized linear models: a unified approach), as in the documentation of statsmodels."""
    frame = sm.datasets.star98.load_pandas().data.assign(g=1)
    found = fit_frame(frame, ["g"], model="glm", family="binomial", formula=STAR98)
    coefficients = found.coefficients("none").set_index("term")["params"]
    assert found.arrays["status"][0] == Status.FITTED
    assert found.arrays["deviance"][0] == pytest.approx(4078.8, abs=0.05)
    assert found.arrays["llf"][0] == pytest.approx(-2998.6, abs=0.05)
    assert coefficients["Intercept"] == pytest.approx(2.9589, abs=5e-5)
    assert coefficients["LOWINC"] == pytest.approx(-0.0168, abs=5e-5)
    assert coefficients["PERMINTE"] == pytest.approx(0.2545, abs=5e-5)


@pytest.mark.parametrize("covariance", ["nonrobust", "HC1", "cluster"])
def test_groups_are_as_one_by_one(covariance: str) -> None:
    frame = sm.datasets.star98.load_pandas().data
    frame["g"], frame["c"] = np.arange(len(frame)) % 5, np.arange(len(frame)) % 37
    frame.loc[7, ["NABOVE", "NBELOW"]] = 0  # no trial, of which statsmodels makes nothing
    frame.loc[8, "NBELOW"] = np.nan
    more: dict[str, Any] = {"covariance": covariance, "clusters": "c" if covariance == "cluster" else None}
    found = fit_frame(frame, ["g"], model="glm", family="binomial", formula=FEW, **more)
    assert (found.arrays["path"] == 0).all()
    for g, part in frame.drop(index=[7, 8]).groupby("g"):
        how = {"groups": np.unique(part["c"], return_inverse=True)[1]} if covariance == "cluster" else None
        theirs = smf.glm(FEW, part, family=sm.families.Binomial()).fit(cov_type=covariance, cov_kwds=how)
        place = found.keys.index((str(g),))
        np.testing.assert_allclose(found.arrays["params"][place], theirs.params, rtol=1e-9)
        np.testing.assert_allclose(found.arrays["bse"][place], theirs.bse, rtol=1e-9)
        assert found.arrays["nobs"][place] == theirs.nobs


def counted(**more: Any) -> Results:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"g": np.repeat(np.arange(5), 30), "x": rng.standard_normal(150)})
    frame["n"] = rng.integers(2, 20, 150)
    frame["a"] = rng.binomial(frame["n"], 1 / (1 + np.exp(-frame["x"])))
    frame["k"] = (np.arange(150) % 3 == 0).astype(float)
    is_all = (frame["g"] == 1) & (frame["k"] == 1)  # quasi-separated
    is_all |= ((frame["g"] == 2) & (frame["x"] > 0)) | (frame["g"] == 4)
    frame.loc[frame["g"] == 2, "a"] = 0
    frame["a"] = frame["a"].where(~is_all, frame["n"])
    frame.loc[(frame["g"] == 3) & (frame.index % 30 == 4), "a"] = -1
    frame["b"] = frame["n"] - frame["a"]
    asked: dict[str, Any] = {"model": "glm", "family": "binomial", "formula": "a + b ~ x + k"}
    if more.get("model"):
        del asked["family"]
    return fit_frame(frame, ["g"], **{**asked, **more})


def test_fits_that_fail_are_told() -> None:
    found = counted()
    statuses = [STATUSES[each] for each in found.arrays["status"]]
    assert statuses == ["fitted", "separated", "separated", "failed", "constant outcome"]
    frame = pd.DataFrame({"g": "A", "x": np.arange(30.0) % 7, "a": 1.0, "b": np.arange(30.0) % 3})
    frame.loc[4, "b"] = -1.0  # as many failures too few as there are successes
    other = fit_frame(frame, ["g"], model="glm", family="binomial", formula="a + b ~ x")
    assert STATUSES[other.arrays["status"][0]] == "failed"
    for said in (found.said[3], other.said[0]):
        assert "successes or failures are negative" in said


def test_what_is_left_of_it_may_be_computed() -> None:
    plain, computed = counted(), counted(formula="a + I(n - a) ~ x + k")
    np.testing.assert_array_equal(plain.arrays["params"], computed.arrays["params"])
    other = counted(formula="b + a ~ x + k")
    np.testing.assert_allclose(other.arrays["params"][0], -plain.arrays["params"][0], rtol=1e-6)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"model": "ols"}, "two outcomes in one formula"),
        ({"family": "poisson"}, "two outcomes in one formula"),
        ({"model": "logit"}, "two outcomes in one formula"),
        ({"formula": "a + b + n ~ x"}, "not one column"),
        ({"formula": "a:b + n ~ x"}, "not one column"),  # formulas would put n first
        ({"formula": "1 + a ~ x"}, "not one column"),
    ],
)
def test_what_cannot_be_counted_is_told(more: dict[str, Any], words: str) -> None:
    with refusal(words):
        counted(**more)


def shown(seed: int, link: str | None = None) -> tuple[Rows, Any]:
    rng = np.random.default_rng(seed)
    x = np.vstack([np.ones(400), rng.standard_normal(400)])
    trials = rng.integers(1, 40, 400).astype(float)
    mean = 1 / (1 + np.exp(-x.T @ [0.5, 1.5]))
    successes = rng.binomial(trials.astype(int), mean).astype(float)
    roles = {"successes": successes, "failures": trials - successes}
    model = model_of(link=link)
    design = Design(("a", "b"), x, successes / trials, roles)
    theirs = model.fit_one(design.outcome, x.T, roles)
    found = rows_of(model, design, np.asarray(theirs.params), 1.0, seed_for(seed, "rows"))
    assert found is not None
    return found, theirs


@pytest.mark.parametrize("link", [None, "probit"])
def test_rows_are_as_their_influence(link: str | None) -> None:
    rows, theirs = shown(0, link)
    np.testing.assert_allclose(rows.fitted, theirs.fittedvalues, rtol=1e-9)
    np.testing.assert_allclose(rows.residuals, theirs.resid_pearson, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(rows.leverage, theirs.get_hat_matrix_diag(observed=False), rtol=1e-7)
    assert rows.leverage.sum() == pytest.approx(2)


def test_quantile_residuals_are_normal_where_the_model_holds() -> None:
    rows, _ = shown(1)
    assert rows.names[3] == "quantile residual"
    assert stats.kstest(rows.normal, "norm").pvalue > 1e-3
    assert np.isfinite(rows.normal).all()
    again, _ = shown(1)
    np.testing.assert_array_equal(rows.normal, again.normal)
