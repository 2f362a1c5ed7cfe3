"""P values and intervals that are computed without `scipy.stats` are those of statsmodels, bit by bit."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.discrete.truncated_model import TruncatedLFPoisson
from statsmodels.stats.multitest import multipletests

from shortloop.panel.fitting.statsmodels_fit import tests_of as found_of
from shortloop.panel.results import correct_pvalues

Data = tuple[np.ndarray, np.ndarray]
NAMES = ("pvalues", "lower", "upper", "f_pvalue")
MODELS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "ols": lambda y, x: sm.OLS(y, x).fit(),
    "ols hc3": lambda y, x: sm.OLS(y, x).fit(cov_type="HC3"),
    "ols cluster": lambda y, x: sm.OLS(y, x).fit(
        cov_type="cluster", cov_kwds={"groups": np.arange(len(y)) % 5}, use_t=True
    ),
    "wls": lambda y, x: sm.WLS(y, x, weights=1.0 + np.abs(x[:, 1])).fit(),
    "gls": lambda y, x: sm.GLS(y, x, sigma=2.0 + np.abs(y)).fit(),
    "glsar": lambda y, x: sm.GLSAR(y, x, rho=1).iterative_fit(2),
    "rlm": lambda y, x: sm.RLM(y, x).fit(),
    "quantile": lambda y, x: sm.QuantReg(y, x).fit(0.3),
    "probit": lambda y, x: sm.Probit(y > np.median(y), x).fit(disp=0),
    "logit hc0": lambda y, x: sm.Logit(y > np.median(y), x).fit(disp=0, cov_type="HC0"),
    "poisson": lambda y, x: sm.Poisson(np.floor(np.abs(y)), x).fit(disp=0),
    "negative binomial": lambda y, x: sm.NegativeBinomial(np.floor(np.exp(y)), x).fit(disp=0),
    "truncated": lambda y, x: TruncatedLFPoisson(1.0 + np.floor(np.abs(y)), x).fit(disp=0),
    "gamma": lambda y, x: sm.GLM(1.0 + np.abs(y), x, family=sm.families.Gamma(sm.families.links.Log())).fit(),
    "glm with t": lambda y, x: sm.GLM(y, x).fit(use_t=True),
    "gee": lambda y, x: sm.GEE(y, x, groups=np.arange(len(y)) // 4).fit(),
    "mixed": lambda y, x: sm.MixedLM(y, x, groups=np.arange(len(y)) // 4).fit(),
    "multinomial": lambda y, x: sm.MNLogit(np.digitize(y, [-0.5, 0.5]), x).fit(disp=0),
}
"""Of some, intervals or p values are what others have not: these are asked of the results themselves."""
NONE = ("multinomial", "gee", "mixed")


def data(seed: int, rows: int = 60, scale: float = 1.0) -> Data:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(rows), scale * rng.standard_normal((rows, 2))])
    return x @ [0.3, 0.5 / scale, 0.0] + rng.standard_normal(rows), x


def asked_of(results: Any, level: float) -> dict[str, np.ndarray]:
    asked = {"pvalues": np.asarray(results.pvalues)}
    interval = np.asarray(results.conf_int(alpha=1.0 - level))
    asked |= {"lower": interval[..., 0], "upper": interval[..., 1]}
    with contextlib.suppress(AttributeError, ValueError):  # no test, or none of these covariances
        asked["f_pvalue"] = np.asarray(results.f_pvalue)
    return asked


def check(results: Any, level: float = 0.95) -> set[str]:
    results = getattr(results, "_results", results)
    found = found_of(results, level)  # before it is asked for anything
    asked = asked_of(results, level)
    for name, value in found.items():
        assert np.asarray(value).dtype == np.float64
        np.testing.assert_array_equal(np.asarray(value), asked[name], err_msg=name, strict=True)
    return set(found)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_of_all_kinds_of_models(name: str) -> None:
    found = set.union(*(check(MODELS[name](*data(seed)), level) for seed, level in ((0, 0.95), (1, 0.9))))
    if name in ("ols", "wls", "gls"):
        assert found == set(NAMES)
    elif name not in NONE:
        assert found >= {"lower", "upper"}


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 12),
    scale=st.sampled_from([1e-300, 1e-8, 1.0, 1e8, 1e300]),
    level=st.floats(0.01, 0.9999),
    kind=st.sampled_from(["ols", "ols hc3", "rlm", "glm with t"]),
    exact=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_of_nasty_designs(seed: int, rows: int, scale: float, level: float, kind: str, exact: bool) -> None:
    y, x = data(seed, rows, scale)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = MODELS[kind](x[:, 0] * 2.0 if exact else y, x)
        except Exception:
            return  # statsmodels cannot fit it
        check(results, level)


def test_a_class_with_p_values_of_its_own_is_asked_for_them() -> None:
    from statsmodels.regression.linear_model import RegressionResults

    class Own(RegressionResults):
        pvalues = property(lambda self: np.full(3, 0.5))

    y, x = data(0)
    results = sm.OLS(y, x).fit()._results
    found = found_of(Own(results.model, results.params, results.normalized_cov_params, results.scale), 0.95)
    assert "pvalues" not in found
    assert found.keys() == {"lower", "upper", "f_pvalue"}
    assert found_of(object(), 0.95) == {}


@given(
    pvalues=st.lists(st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.01, 0.05, 1.0, 5e-324]), min_size=1),
    correction=st.sampled_from(["holm", "fdr_bh"]),
)
@settings(max_examples=50, deadline=None)
def test_corrections_are_those_of_statsmodels(pvalues: list[float], correction: str) -> None:
    tested = np.array([*pvalues, np.nan, 0.5])[:, np.newaxis]
    fitted = np.arange(len(tested)) < len(tested) - 1
    found = correct_pvalues(tested, fitted, correction)[:, 0]
    assert found[:-2].tobytes() == multipletests(pvalues, method=correction)[1].tobytes()
    assert np.isnan(found[-2:]).all()
