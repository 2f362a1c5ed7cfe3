"""A row of leverage 1 leaves coefficients without a standard error of HC2 and HC3: the same in any order."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

from shortloop.panel.frame import fit_frame
from shortloop.panel.results import Results
from shortloop.panel.statistics import STATUSES, Status

OLS = "statsmodels.regression.linear_model.OLS"


def rows(seed: int = 3, number: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "g": "a",
            "x": 3 * rng.standard_normal(number) + 1,
            "k": np.resize(["u", "v"], number),
            "m": np.resize(["p", "q", "r"], number),
            "w": rng.uniform(0.5, 2, number),
        }
    )
    return frame.assign(y=frame["x"] + rng.standard_normal(number))


def fit(frame: pd.DataFrame, covariance: str, model: str = "ols", formula: str = "y ~ x + C(k)") -> Results:
    asked: dict[str, Any] = {"model": model, "formula": formula}
    if model == "statsmodels":
        asked |= {"path": OLS, "fit": {"cov_type": covariance}}
    else:
        asked |= {"covariance": covariance} | ({"weights": "w"} if model == "wls" else {})
    return fit_frame(frame, ["g"], **asked)


def theirs(frame: pd.DataFrame, covariance: str, model: str, formula: str = "y ~ x + C(k)") -> pd.DataFrame:
    kinds = {"wls": lambda: smf.wls(formula, frame, weights=frame["w"])}
    found = kinds.get(model, lambda: smf.ols(formula, frame))().fit(cov_type=covariance)
    low, high = found.conf_int().to_numpy().T
    return pd.DataFrame(
        {"bse": found.bse, "tvalues": found.tvalues, "pvalues": found.pvalues, "lower": low, "upper": high}
    )


@pytest.mark.parametrize("covariance", ["HC2", "HC3"])
@pytest.mark.parametrize("model", ["ols", "wls", "statsmodels"])
@pytest.mark.parametrize("only", ["w", "a"])
def test_others_are_as_without_the_row_in_any_order(covariance: str, model: str, only: str) -> None:
    """Of a level seen once, its coefficient hangs on the row; of a reference seen once, all levels do."""
    frame = rows()
    frame.loc[7, "k"] = only
    without = theirs(frame.drop(7), covariance, model)
    undefined = {"w": ["C(k)[T.w]"], "a": ["Intercept", "C(k)[T.u]", "C(k)[T.v]"]}[only]
    for seed in range(8):
        found = fit(frame.sample(frac=1, random_state=seed), covariance, model)
        assert STATUSES[found.arrays["status"][0]] == "leverage of 1"
        assert f"one row alone decides {', '.join(undefined)}:" in found.said[0]
        each = found.coefficients().set_index("term")
        assert set(each.index[each["bse"].isna()]) == set(undefined)
        assert each.loc[undefined, ["tvalues", "pvalues", "lower", "upper"]].isna().all(axis=None)
        assert np.isnan(found.arrays["fvalue"][0])
        right = without.loc[[name for name in without.index if name not in undefined]]
        pd.testing.assert_frame_equal(each.loc[right.index, [*right]], right, rtol=1e-8, check_names=False)
        by_nonrobust = smf.ols("y ~ x + C(k)", frame).fit().params
        if model != "wls":
            np.testing.assert_allclose(each["params"][by_nonrobust.index], by_nonrobust, rtol=1e-9)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("unit", [1.0, 1e5])
def test_what_hangs_on_a_row_cannot_be_estimated_without_it(seed: int, unit: float) -> None:
    """Searle 1971 (Linear Models, section 5.4): a coefficient is estimable if it is a sum of rows."""
    rng = np.random.default_rng(seed)
    frame = rows(seed, 30)
    frame["x"] = unit * (frame["x"] + float(rng.integers(0, 100)))
    for column, level in (("k", "a"), ("m", "s"), ("k", "w"), ("m", "a"))[: rng.integers(1, 5)]:
        frame.loc[rng.integers(30), column] = level
    formula = str(rng.choice(["y ~ x + k + m", "y ~ k*x + m", "y ~ 0 + k + m + x", "y ~ k:m + x"]))
    found = fit(frame, str(rng.choice(["HC2", "HC3"])), formula=formula)
    if STATUSES[found.arrays["status"][0]] not in ("leverage of 1", "fitted"):
        pytest.skip("an interaction of a level seen once is singular")
    import formulaic

    x = formulaic.model_matrix(formula.split("~")[1], frame)[list(found.names)].to_numpy(float)
    x /= np.linalg.norm(x, axis=0)
    leverage = np.diag(x @ np.linalg.pinv(x))
    hangs = np.zeros(x.shape[1], bool)
    for row in np.flatnonzero(leverage > 1 - 1e-9):
        rest = np.delete(x, row, axis=0)
        rank = np.linalg.matrix_rank(rest, tol=1e-9)
        assert rank < x.shape[1]
        for j, unit_vector in enumerate(np.eye(x.shape[1])):
            hangs[j] |= np.linalg.matrix_rank(np.vstack([rest, unit_vector]), tol=1e-9) > rank
    np.testing.assert_array_equal(np.isnan(found.arrays["bse"][0]), hangs)
    assert (found.arrays["status"][0] == Status.LEVERAGE_OF_1) == hangs.any()


@pytest.mark.parametrize("covariance", ["HC2", "HC3"])
@pytest.mark.parametrize("far", [1e3, 1e4, 1e5, 1e6])
def test_a_row_far_out_is_fitted_in_any_order(covariance: str, far: float) -> None:
    """Against fractions: next to a leverage of 1, there are numbers, whatever the order."""
    frame = rows(number=20)
    frame.loc[7, "x"] = far
    right = exact(frame["x"].tolist(), frame["y"].tolist(), 1 if covariance == "HC2" else 2)
    for seed in range(4):
        found = fit(frame.sample(frac=1, random_state=seed), covariance, formula="y ~ x")
        assert found.arrays["status"].tolist() == [Status.FITTED]
        np.testing.assert_allclose(found.arrays["bse"][0], right, rtol=max(1e-9, 1e-15 * far**2))


def exact(x: list[float], y: list[float], power: int) -> list[float]:
    """Standard errors of an intercept and a slope, in fractions."""
    xs, ys, n = [*map(Fraction, x)], [*map(Fraction, y)], len(x)
    mean = sum(xs) / n
    squares = sum((each - mean) ** 2 for each in xs)
    slope = sum((a - mean) * b for a, b in zip(xs, ys, strict=True)) / squares
    errors = [b - sum(ys) / n - slope * (a - mean) for a, b in zip(xs, ys, strict=True)]
    free = [1 - Fraction(1, n) - (a - mean) ** 2 / squares for a in xs]
    found = []
    for share in (
        [Fraction(1, n) - mean * (a - mean) / squares for a in xs],
        [(a - mean) / squares for a in xs],
    ):
        terms = zip(share, errors, free, strict=True)
        found.append(float(sum(c**2 * e**2 / f**power for c, e, f in terms)) ** 0.5)
    return found
