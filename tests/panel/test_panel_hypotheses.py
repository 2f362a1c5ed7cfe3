"""Wald tests of hypotheses in every group are those of statsmodels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal

from shortloop.panel.frame import fit_frame
from shortloop.panel.statistics import TESTS

TESTED = ("x = z", "x = z = 0", "k[T.b] = 0, k[T.c] = 0", "2*x - z/3 = 1 + Intercept", "x:z = -1e-3", "x, z")
FORMULA = "{} ~ x * z + k"
COVARIANCES: dict[str, dict[str, Any]] = {
    "nonrobust": {},
    "HC1": {},
    "HAC": {"lags": 2},
    "cluster": {"clusters": "c"},
}


def rows(seed: int, unit: float = 1.0, groups: int = 2, most: int = 70) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = groups * most
    frame = pd.DataFrame({"g": rng.integers(0, groups, n), "x": unit * rng.standard_normal(n)})
    frame["z"], frame["k"] = rng.uniform(1, 4, n), rng.choice([*"abc"], n)
    frame["c"], frame["w"] = rng.integers(0, 20, n), rng.uniform(0.5, 2, n)
    frame["y"] = frame["x"] / unit + rng.standard_normal(n)
    frame["b"], frame["n"] = (rng.uniform(size=n) < 0.5) * 1.0, rng.poisson(2, n)
    return frame


def theirs(model: str, part: pd.DataFrame, how: dict[str, Any]) -> Any:
    formula = FORMULA.format({"logit": "b", "glm": "n"}.get(model, "y"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if model == "wls":
            return smf.wls(formula, part, weights=part["w"]).fit(**how)
        if model == "glm":
            return smf.glm(formula, part, family=sm.families.Poisson()).fit(**how)
        return getattr(smf, model)(formula, part).fit(**how, **({"disp": 0} if model == "logit" else {}))


SETTINGS: dict[str, dict[str, Any]] = {
    "ols": {},
    "wls": {"weights": "w"},
    "logit": {},
    "glm": {"family": "poisson"},
    "rlm": {},
    "quantreg": {},
}


@pytest.mark.parametrize("model", SETTINGS)
@given(
    seed=st.integers(0, 2**32 - 1),
    unit=st.sampled_from([1e-4, 1.0, 1e4]),
    covariance=st.sampled_from(sorted(COVARIANCES)),
)
@settings(max_examples=6, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_statsmodels(model: str, seed: int, unit: float, covariance: str) -> None:
    frame = rows(seed, unit)
    more: dict[str, Any] = dict(SETTINGS[model])
    how: dict[str, Any] = {}
    if model not in ("rlm", "quantreg"):
        more |= {"covariance": covariance, **COVARIANCES[covariance]}
        how = {"cov_type": covariance}
    formula = FORMULA.format({"logit": "b", "glm": "n"}.get(model, "y"))
    found = fit_frame(frame, "g", model=model, formula=formula, tests=TESTED, **more)
    for g, (_, part) in enumerate(frame.groupby("g")):
        if covariance == "HAC" and how:
            how["cov_kwds"] = {"maxlags": 2}
        elif covariance == "cluster" and how:
            how["cov_kwds"] = {"groups": part["c"]}
        expected = theirs(model, part, how)
        if found.arrays["status"][g] != 0 or (model == "quantreg" and found.arrays["path"][g] == 0):
            continue  # the optimum of quantiles is another one
        for i, text in enumerate(TESTED):
            theirs_ = expected.wald_test(text, scalar=True)
            assert found.arrays["test_statistic"][g, i] == pytest.approx(theirs_.statistic, rel=1e-5)
            assert found.arrays["test_pvalues"][g, i] == pytest.approx(theirs_.pvalue, rel=1e-5, abs=1e-12)
            assert found.arrays["test_df"][g, i] == theirs_.df_num if hasattr(theirs_, "df_num") else True
        single = expected.t_test("x = z")
        assert found.arrays["test_effect"][g, 0] == pytest.approx(np.squeeze(single.effect), rel=1e-7)
        assert found.arrays["test_bse"][g, 0] == pytest.approx(np.squeeze(single.sd), rel=1e-7)


def test_quantiles_are_tested_with_their_covariance() -> None:
    frame = rows(0)
    found = fit_frame(frame, "g", model="quantreg", formula="y ~ x + z", tests=["x = 0"])
    assert (found.arrays["path"] == 0).all()
    np.testing.assert_allclose(found.arrays["test_statistic"][:, 0], found.arrays["tvalues"][:, 1] ** 2)
    np.testing.assert_allclose(found.arrays["test_pvalues"][:, 0], found.arrays["pvalues"][:, 1])


def test_groups_that_lack_a_coefficient_have_no_test_of_it() -> None:
    frame = rows(1, groups=3)
    frame = frame[(frame["g"] != 1) | (frame["k"] != "c")]
    asked: dict[str, Any] = {"model": "ols", "formula": "y ~ x + k", "tests": ["k[T.c] = 0", "x = 0"]}
    found = fit_frame(frame, "g", **asked)
    table = found.tests("holm").set_index(["g", "test"])
    lacking = table["pvalues_corrected"].isna()
    assert table.index[lacking].tolist() == [(1, "k[T.c] = 0")]
    for g, (_, part) in enumerate(frame.groupby("g")):
        if g != 1:
            alone = fit_frame(part, "g", **asked)
            for name in TESTS:
                np.testing.assert_array_equal(found.arrays[name][g], alone.arrays[name][0])


def test_fits_that_failed_are_not_tested() -> None:
    frame = rows(2)
    frame.loc[frame["g"] == 1, "z"] = frame["x"] * 2
    found = fit_frame(frame, "g", model="ols", formula="y ~ x + z", tests=["x = 0"])
    assert found.fits()["status"].tolist() == ["fitted", "singular"]
    assert np.isnan(found.arrays["test_statistic"][1]).all()


def test_columns_that_make_groups_may_have_names_of_the_table() -> None:
    frame = rows(3).rename(columns={"g": "df"})
    found = fit_frame(frame, "df", model="ols", formula="y ~ x", tests=["x = 0"])
    assert found.tests().columns.tolist()[:2] == ["group_df", "test"]
    assert found.coefficients().columns[0] == "df"


@pytest.mark.parametrize("text", ["`net x` = 0", "net x = 0"])
def test_names_may_have_backticks(text: str) -> None:
    frame = rows(4).rename(columns={"x": "net x"})
    found = fit_frame(frame, "g", model="ols", formula="y ~ `net x`", tests=[text])
    np.testing.assert_allclose(found.arrays["test_statistic"][:, 0], found.arrays["tvalues"][:, 1] ** 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nosuch = 0", "unrecognized token"),
        ("x * z = 0", "Can't multiply"),
        ("", "empty"),
        ("1 = 1", "no variables appear"),
        ("x = z, z = x", "depend on each other"),
        ("x = 0, x = 1", "depend on each other"),
    ],
)
def test_hypotheses_that_cannot_be(text: str, said: str) -> None:
    with refusal("", said, field="tests", found=text):
        fit_frame(rows(0), "g", model="ols", formula="y ~ x + z", tests=["x = 0", text])
