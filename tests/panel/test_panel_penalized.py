"""Ridge, lasso and elastic net in every group: scikit-learn's objective, at its minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_real import real_table
from panel_shops import built, shops
from refusal import refusal
from sklearn.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.preprocessing import StandardScaler

from shortloop.base.types import FloatArray
from shortloop.panel.frame import fit_frame
from shortloop.panel.results import Results
from shortloop.stages.results import open_result

EXACT: dict[str, Any] = {"tol": 1e-14, "max_iter": 10**6}
KINDS = ("ridge", "lasso", "elasticnet")


def judge(model: str, alpha: float, **more: Any) -> Any:
    if model == "ridge":
        return Ridge(alpha, solver="svd", **more)
    return (
        Lasso(alpha, **EXACT, **more)
        if model == "lasso"
        else ElasticNet(alpha, l1_ratio=0.3, **EXACT, **more)
    )


def fitted(model: str, frame: pd.DataFrame, formula: str, by: str, **more: Any) -> Results:
    more |= {"l1_ratio": 0.3} if model == "elasticnet" else {}
    return fit_frame(frame, [by], model=model, formula=formula, **more)


def assert_minimal(model: str, alpha: float, x: FloatArray, y: FloatArray, params: FloatArray) -> None:
    """See that a duality gap is next to nothing, without scikit-learn; the intercept is the first."""
    x, y = x - x.mean(axis=0), y - y.mean()
    w, n = params[1:], len(y)
    if model == "ridge":
        slope = -2 * x.T @ (y - x @ w) + 2 * alpha * w
        assert np.abs(slope).max() <= 1e-8 * (np.abs(2 * x.T @ y).max() + 1e-12)
        return
    l1, l2 = (alpha, 0.0) if model == "lasso" else (0.3 * alpha, 0.7 * alpha)
    x = np.vstack([x, np.sqrt(n * l2) * np.eye(len(w))])  # squares of coefficients are rows of a lasso
    y = np.concatenate([y, np.zeros(len(w))])
    residuals = y - x @ w
    primal = residuals @ residuals / (2 * n) + l1 * np.abs(w).sum()
    dual = residuals * min(1.0, n * l1 / max(np.abs(x.T @ residuals).max(), 1e-300))
    gap = primal - (y @ y - (y - dual) @ (y - dual)) / (2 * n)
    assert -1e-10 * (y @ y / n) <= gap <= 1e-9 * (y @ y / n)


@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("standardize", [False, True])
def test_real_groups_have_the_numbers_of_scikit_learn(model: str, standardize: bool) -> None:
    frame = real_table("linearmodels.datasets.wage_panel")
    formula, alpha = "lwage ~ hours + exper + educ + married", 0.03
    found = fitted(model, frame, formula, "year", alpha=alpha, standardize=standardize, folds=0)
    assert {*found.fits()["status"]} == {"fitted"}
    assert found.names == ("Intercept", "hours", "exper", "educ", "married")
    for group, (_, part) in enumerate(frame.groupby("year")):
        x, y = part[[*found.names[1:]]].astype(float), part["lwage"].to_numpy()
        params = found.arrays["params"][group]
        scale = x.std(ddof=0).to_numpy() if standardize else np.ones(4)
        assert_minimal(model, alpha, x.to_numpy() / scale, y, params * np.r_[1.0, scale])
        theirs = judge(model, alpha).fit(x / scale, y)
        np.testing.assert_allclose(params[1:] * scale, theirs.coef_, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(params[0], theirs.intercept_, rtol=1e-8)


@settings(max_examples=25)
@given(st.sampled_from(KINDS), st.integers(0, 10**6), st.floats(-3, 3), st.floats(-6, 6), st.booleans())
def test_no_data_have_a_larger_gap(model: str, seed: int, alpha: float, unit: float, twice: bool) -> None:
    """More regressors than rows, one twice, in any unit."""
    rng = np.random.default_rng(seed)
    rows, size = rng.integers(5, 40), 8
    x = rng.standard_normal((rows, size)) * 10.0**unit
    if twice:
        x[:, 1] = x[:, 0]
    y = x[:, :3].sum(axis=1) * 10.0**-unit + rng.standard_normal(rows)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(size)]).assign(y=y, g=1)
    weight = 10.0**alpha * (10.0 ** (2 * unit) if model == "ridge" else 10.0**unit)
    found = fitted(model, frame, f"y ~ {' + '.join(frame.columns[:size])}", "g", alpha=weight, folds=0)
    if found.fits()["status"][0] == "fitted":
        assert_minimal(model, weight, x, y, found.arrays["params"][0])
    else:
        assert found.fits()["status"][0] == "not converged"


@pytest.mark.parametrize(("model", "of"), [*zip(KINDS, (RidgeCV, LassoCV, ElasticNetCV), strict=True)])
def test_the_chosen_penalty_is_that_of_scikit_learn(model: str, of: Any) -> None:
    frame = real_table("linearmodels.datasets.wage_panel").sample(frac=1, random_state=3)
    frame = frame[frame["year"] > 1984].reset_index(drop=True)
    alphas = [0.001, 0.01, 0.1, 10.0, 30.0, 100.0, 300.0]
    found = fitted(model, frame, "lwage ~ exper + educ + married", "year", alpha=alphas, folds=4)
    more: dict[str, Any] = {"l1_ratio": 0.3} if model == "elasticnet" else {}
    more |= {"scoring": "neg_mean_squared_error"} if model == "ridge" else EXACT
    chosen = found.fits()["alpha"]
    assert chosen.nunique() > 1
    for group, (_, part) in enumerate(frame.groupby("year")):
        x, y = part[["exper", "educ", "married"]].astype(float).to_numpy(), part["lwage"].to_numpy()
        theirs = of(alphas=alphas, cv=KFold(4), **more).fit(x, y)
        assert chosen[group] == theirs.alpha_
        np.testing.assert_allclose(found.arrays["params"][group, 1:], theirs.coef_, rtol=1e-7, atol=1e-10)
    within = GridSearchCV(judge(model, 1.0), {"alpha": alphas}, cv=KFold(4), scoring="neg_mean_squared_error")
    scores = cross_validate(within, x, y, cv=KFold(4), scoring="r2")["test_score"]  # chosen within each fold
    np.testing.assert_allclose(found.scores()["mean"].iloc[-1], scores.mean(), rtol=1e-6)


def test_a_formula_without_constant_has_none() -> None:
    frame = shops()
    for standardize in (False, True):
        found = fitted("ridge", frame, "y ~ 0 + x", "town", alpha=2.0, standardize=standardize, folds=0)
        for group, (_, part) in enumerate(frame.sort_values("town").dropna().groupby("town")):
            x, y = part[["x"]], part["y"]
            scaler = StandardScaler(with_mean=False).fit(x)
            scale = scaler.scale_ if standardize else 1.0
            theirs = Ridge(2.0, fit_intercept=False).fit(x.to_numpy() / scale, y)
            np.testing.assert_allclose(found.arrays["params"][group], theirs.coef_ / scale, rtol=1e-9)
        assert found.said == [""] * 3


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": 0}, "greater than 0"),
        ({"alpha": []}, "at least one"),
        ({"alpha": [1, 2], "folds": 0}, "several need folds"),
        ({"alpha": [1, 2], "fold_by": "k"}, "not with several alpha"),
        ({"l1_ratio": 0}, "greater than 0"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], said: str) -> None:
    with refusal("invalid value", said):
        fit_frame(shops(), ["town"], model="elasticnet", formula="y ~ x", **settings)


def test_a_run_has_the_chosen_penalties(tmp_path: Any) -> None:
    run, _ = built(tmp_path, "worst = 1", "lasso", 'formula = "y ~ x + C(k)", alpha = [0.01, 0.1], folds = 3')
    (results,) = [open_result(job.path) for job in run.jobs if job.stage == "panel_results"]
    alone = fit_frame(
        shops(), ["town", "shop"], model="lasso", formula="y ~ x + C(k)", alpha=[0.01, 0.1], folds=3
    )
    fits: Any = results.tables["fits"]
    pd.testing.assert_frame_equal(fits, alone.fits())
    assert {*fits["alpha"].dropna()} == {0.01, 0.1}
