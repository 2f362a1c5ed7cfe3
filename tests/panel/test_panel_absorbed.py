"""Absorbed effects are those of dummies in statsmodels, and of pyfixest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_real import real_table
from refusal import refusal

from shortloop.panel.data import from_frame
from shortloop.panel.diagnostics.residuals import rows_of
from shortloop.panel.fitting.fit import Fitter
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.frame import fit_frame
from shortloop.panel.models.ols import Ols

NAMES = ("rsquared", "rsquared_adj", "llf", "aic", "bic", "scale", "df_resid", "df_model", "nobs")


def rows(seed: int, *, firms: int = 12, years: int = 6, most: int = 90, apart: bool = False) -> pd.DataFrame:
    """Rows of two groups; some levels have one row, and levels of firms and years may fall into two parts."""
    rng = np.random.default_rng(seed)
    n = 2 * most
    frame = pd.DataFrame({"g": rng.integers(0, 2, n), "firm": rng.integers(0, firms, n)})
    frame["year"] = rng.integers(0, years, n) + (1000 * (frame["firm"] % 2) if apart else 0)
    frame["x"] = rng.standard_normal(n) + 0.3 * frame["firm"]
    frame["z"] = rng.standard_normal(n) * frame["year"] ** 0.5 + 100
    frame["k"], frame["s"] = rng.choice([*"abc"], n), rng.choice([*"pqrs"], n)
    frame["c"] = rng.integers(0, 25, n)
    frame["y"] = frame["x"] + frame["firm"] + 0.1 * frame["year"] + rng.standard_normal(n)
    frame.loc[rng.integers(0, n, 3), "x"] = np.nan
    return frame.assign(firm=frame["firm"].map("F{}".format).where(rng.uniform(size=n) > 0.02, None))


def same(found: Any, g: int, theirs: Any, free: bool = True) -> None:
    terms = [name for name in found.names if name in theirs.params.index]
    assert len(terms) == len(found.names)
    scale = np.maximum(theirs.params[terms].abs(), theirs.bse[terms])
    assert ((found.arrays["params"][g] - theirs.params[terms]).abs() <= 1e-8 * scale).all()
    if free:
        np.testing.assert_allclose(found.arrays["bse"][g], theirs.bse[terms], rtol=1e-8)
        np.testing.assert_allclose(found.arrays["pvalues"][g], theirs.pvalues[terms], rtol=1e-5, atol=1e-12)
        for name in NAMES:
            assert found.arrays[name][g] == pytest.approx(getattr(theirs, name), rel=1e-8), name
        wald = theirs.f_test(", ".join(f"{name} = 0" for name in terms))
        assert found.arrays["fvalue"][g] == pytest.approx(float(wald.fvalue), rel=1e-6)
        assert found.arrays["f_pvalue"][g] == pytest.approx(float(wald.pvalue), rel=1e-5, abs=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    effects=st.sampled_from([("firm",), ("firm", "year"), ("year", "firm", "s")]),
    covariance=st.sampled_from(["nonrobust", "HC0", "HC1", "HAC", "cluster"]),
    apart=st.booleans(),
    firms=st.integers(2, 40),
)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_dummies(
    seed: int, effects: tuple[str, ...], covariance: str, apart: bool, firms: int
) -> None:
    apart = apart and len(effects) == 2
    frame = rows(seed, apart=apart, firms=firms)
    more: dict[str, dict[str, Any]] = {"HAC": {"lags": 2}, "cluster": {"clusters": "c"}}
    asked = more.get(covariance, {})
    formula = f"y ~ x + z + k | {' + '.join(effects)}"
    found = fit_frame(frame, "g", model="ols", formula=formula, covariance=covariance, **asked)
    for g, (_, part) in enumerate(frame.dropna().groupby("g")):
        known: dict[str, dict[str, Any]] = {"HAC": {"maxlags": 2}, "cluster": {"groups": part["c"]}}
        how = known.get(covariance, {})
        dummies = smf.ols(f"y ~ x + z + k + {' + '.join(f'C({name})' for name in effects)}", part)
        theirs = dummies.fit(cov_type=covariance, **({"cov_kwds": how} if how else {}))
        # statsmodels corrects clusters by the number of columns, of which some are sums of others
        rank = np.linalg.matrix_rank(dummies.exog)
        if found.arrays["status"][g] == 0:
            same(found, g, theirs, free=covariance != "cluster" or rank == dummies.exog.shape[1])


REAL: dict[tuple[str, str], tuple[list[float], list[float]]] = {
    ("firm", "nonrobust"): ([0.110129119, 0.310033442], [0.0112998433, 0.0165404765]),
    ("firm", "HC1"): ([0.110129119, 0.310033442], [0.0193637189, 0.0427718762]),
    ("firm", "firm"): ([0.110129119, 0.310033442], [0.015108267, 0.0524724044]),
    ("firm", "year"): ([0.110129119, 0.310033442], [0.0173166219, 0.0322635023]),
    ("firm + year", "nonrobust"): ([0.116681132, 0.351435694], [0.0129330338, 0.0210486041]),
    ("firm + year", "HC1"): ([0.116681132, 0.351435694], [0.0191007534, 0.0528701098]),
    ("firm + year", "firm"): ([0.116681132, 0.351435694], [0.0114754775, 0.0478837276]),
    ("firm + year", "year"): ([0.116681132, 0.351435694], [0.0188638204, 0.0496277142]),
}
"""Effects and covariance, or clusters; coefficients and standard errors of ``feols`` of pyfixest 0.60."""


@pytest.mark.parametrize(("effects", "covariance"), REAL)
def test_numbers_of_pyfixest_on_real_data(effects: str, covariance: str) -> None:
    frame = real_table("statsmodels.datasets.grunfeld").assign(all=1)
    how = {"covariance": covariance}
    if covariance in frame:
        how = {"covariance": "cluster", "clusters": covariance}
    asked: dict[str, Any] = {"formula": f"invest ~ value + capital | {effects}", **how}
    found = fit_frame(frame, "all", model="ols", **asked)
    params, errors = REAL[effects, covariance]
    np.testing.assert_allclose(found.arrays["params"][0], params, rtol=1e-7)
    np.testing.assert_allclose(found.arrays["bse"][0], errors, rtol=1e-7)


def test_few_clusters_are_left_to_statsmodels() -> None:
    frame = rows(1).assign(c=lambda d: d["c"] % 4)
    asked: dict[str, Any] = {"covariance": "cluster", "clusters": "c"}
    found = fit_frame(frame, "g", model="ols", formula="y ~ x + z + k | firm", **asked)
    assert (found.arrays["path"] == 1).all()
    for g, (_, part) in enumerate(frame.dropna().groupby("g")):
        how = {"cov_type": "cluster", "cov_kwds": {"groups": part["c"]}}
        theirs = smf.ols("y ~ x + z + k + C(firm)", part).fit(**how)
        same(found, g, theirs, free=False)
        np.testing.assert_allclose(found.arrays["bse"][g], theirs.bse[list(found.names)], rtol=1e-8)
        for name in NAMES:
            assert found.arrays[name][g] == pytest.approx(getattr(theirs, name), rel=1e-8), name


def test_a_chain_of_levels_converges() -> None:
    """Each level shares a row with the next only: alternating projections take thousands of turns."""
    rng = np.random.default_rng(0)
    i = np.arange(600)
    frame = pd.DataFrame({"g": 1, "a": (i + 1) // 2, "b": i // 2, "x": rng.standard_normal(600).cumsum()})
    frame = pd.concat([frame] * 2).assign(x=lambda d: d["x"] + rng.standard_normal(1200))
    frame["y"] = frame["x"] + frame["a"] ** 1.5 + rng.standard_normal(1200)
    found = fit_frame(frame, "g", model="ols", formula="y ~ x | a + b")
    theirs = smf.ols("y ~ x + C(a) + C(b)", frame).fit()
    assert found.arrays["params"][0, 0] == pytest.approx(theirs.params["x"], rel=1e-9)
    assert found.arrays["bse"][0, 0] == pytest.approx(theirs.bse["x"], rel=1e-9)


@pytest.mark.parametrize("defect", ["of firms", "of both", "nearly", "outcome", "one row each", "infinite"])
def test_what_effects_explain_is_not_fitted(defect: str) -> None:
    frame = rows(2).dropna()
    firms = pd.factorize(frame["firm"])[0] * 1.7
    status = "singular"
    if defect == "of firms":
        frame["z"] = firms
    elif defect == "of both":
        frame["z"] = firms + frame["year"] ** 2
    elif defect == "nearly":
        frame["z"] = 1e6 * firms + 1e-7 * frame["z"]
    elif defect == "outcome":
        frame["y"], status = firms + frame["year"], "constant outcome"
    elif defect == "one row each":
        frame["firm"], status = np.arange(len(frame)), "too few rows"
    else:
        frame.loc[frame.index[[0, 1]], "x"], status = np.inf, "values not finite"
        frame.loc[frame.index[[0, 1]], "g"] = [0, 1]
    found = fit_frame(frame, "g", model="ols", formula="y ~ x + z | firm + year")
    assert found.fits()["status"].tolist() == [status] * 2


@pytest.mark.parametrize("effects", [("firm",), ("firm", "year")])
def test_residuals_of_rows(effects: tuple[str, ...]) -> None:
    frame = rows(4).dropna()
    model = Ols(model="ols", formula=f"y ~ x + z | {' + '.join(effects)}")
    fitter = Fitter(model, Equation(model.formula), from_frame(frame, ["g"]))
    fits = fitter.fit().arrays
    found = rows_of(
        model, fitter.design_of(1), fits["params"][1], fits["scale"][1], np.random.SeedSequence(0)
    )
    part = frame[frame["g"] == 1]
    theirs = smf.ols(f"y ~ x + z + {' + '.join(f'C({name})' for name in effects)}", part).fit()
    influence = theirs.get_influence()
    assert found is not None
    np.testing.assert_allclose(found.observed, part["y"])
    np.testing.assert_allclose(found.fitted, theirs.fittedvalues, rtol=1e-8)
    np.testing.assert_allclose(found.leverage, influence.hat_matrix_diag, rtol=1e-7)
    inside = influence.hat_matrix_diag < 1 - 1e-9
    mine, others = found.standardized[inside], influence.resid_studentized_internal[inside]
    np.testing.assert_allclose(mine, others, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.cook[inside], influence.cooks_distance[0][inside], rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"model": "rlm", "formula": "y ~ x | firm"}, "absorbed effects for model 'ols'"),
        ({"model": "ols", "formula": "y ~ x | firm", "covariance": "HC3"}, "without HC2, HC3"),
        ({"model": "ols", "formula": "y ~ x | C(firm)"}, "not columns"),
        ({"model": "ols", "formula": "y ~ x | firm:year"}, "cannot be interactions"),
        ({"model": "ols", "formula": "y ~ x | 1"}, "not columns"),
        ({"model": "ols", "formula": "y ~ 1 | firm"}, "no regressor"),
        ({"model": "ols", "formula": "y ~ x | firm | year"}, "several parts"),
        ({"model": "ols", "formula": "y ~ x | nosuch"}, "no such column"),
    ],
)
def test_formulas_that_cannot_be(asked: dict[str, Any], said: str) -> None:
    with refusal("", said):
        fit_frame(rows(0), "g", **asked)
