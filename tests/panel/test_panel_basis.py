"""Units and origins of regressors decide no result: squares of billions, and powers of years."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from shortloop.panel.frame import fit_frame

SQUARE = "y ~ x + I(x ** 2)"
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "HC3": ({"model": "ols", "covariance": "HC3"}, lambda d: smf.ols(SQUARE, d).fit(cov_type="HC3")),
    "few clusters": (
        {"model": "ols", "covariance": "cluster", "clusters": "c"},
        lambda d: smf.ols(SQUARE, d).fit(cov_type="cluster", cov_kwds={"groups": d["c"]}),
    ),
    "weights": ({"model": "wls", "weights": "w"}, lambda d: smf.wls(SQUARE, d, weights=d["w"]).fit()),
    "Huber": ({"model": "rlm"}, lambda d: smf.rlm(SQUARE, d).fit()),
    "counts": (
        {"model": "glm", "family": "poisson", "formula": "n ~ x + I(x ** 2)"},
        lambda d: smf.glm("n ~ x + I(x ** 2)", d, family=sm.families.Poisson()).fit(),
    ),
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = 2.0 * np.exp(0.5 * rng.standard_normal(200))
    frame = pd.DataFrame({"g": 1, "x": x, "c": rng.integers(0, 4, 200), "w": rng.uniform(0.1, 1.1, 200)})
    frame["y"] = x - 0.1 * x**2 + rng.standard_normal(200)
    return frame.assign(n=rng.poisson(np.exp(0.3 * x)), b=(rng.uniform(size=200) < 0.2 * x).astype(float))


@pytest.mark.parametrize("unit", [1e9, 1e-9])
@pytest.mark.parametrize("case", CASES)
def test_units_only_divide_coefficients(frame: pd.DataFrame, case: str, unit: float) -> None:
    asked, theirs = CASES[case]
    asked = {"formula": SQUARE, "tests": ["x = 0"], **asked}
    found = fit_frame(frame.assign(x=frame["x"] * unit), ["g"], **asked)
    assert found.fits()["status"].tolist() == ["fitted"]
    expected = theirs(frame)
    for name, error in (("params", 1e-6), ("bse", 1e-6), ("pvalues", 1e-5)):
        mine = found.arrays[name][0] * (1.0 if name == "pvalues" else np.array([1.0, unit, unit**2]))
        np.testing.assert_allclose(mine, getattr(expected, name), rtol=error, atol=1e-13)
    test = expected.wald_test("x = 0", scalar=True)
    assert found.tests()["statistic"][0] == pytest.approx(float(test.statistic), rel=1e-6)
    if asked["model"] in ("ols", "wls", "glm"):
        own, alike = found.predict(interval=0.9), fit_frame(frame, ["g"], **asked).predict(interval=0.9)
        np.testing.assert_allclose(own["fitted"], found.predict()["fitted"], rtol=1e-8)
        for name in alike.columns[1:-1]:
            np.testing.assert_allclose(own[name], alike[name], rtol=1e-6, atol=1e-8)


YEARS: dict[str, dict[str, Any]] = {
    "plain": {"model": "ols"},
    "HAC": {"model": "ols", "covariance": "HAC"},
    "two ways": {"model": "ols", "covariance": "cluster", "clusters": ["c", "d"]},
    "weights": {"model": "wls", "weights": "w", "covariance": "HC1"},
    "effects": {"model": "ols", "covariance": "cluster", "clusters": "d", "effects": " | c"},
    "Huber": {"model": "rlm"},
    "logit": {"model": "logit", "outcome": "b"},
    "counts": {"model": "glm", "family": "poisson", "covariance": "HC1", "outcome": "n"},
    "shares": {"model": "glm", "family": "binomial", "link": "probit", "outcome": "b", "var_weights": "w"},
}


@pytest.mark.parametrize("case", YEARS)
@pytest.mark.filterwarnings("ignore")
def test_powers_of_years_are_these_of_deviations(frame: pd.DataFrame, case: str) -> None:
    asked = dict(YEARS[case])
    outcome, effects = asked.pop("outcome", "y"), asked.pop("effects", "")
    rng = np.random.default_rng(1)
    frame = frame.assign(u=rng.integers(-30, 31, 200), d=rng.integers(0, 30, 200))
    frame = frame.assign(year=frame["u"] + 1990, y=frame["y"] + 1e-5 * frame["u"] ** 3)
    both = []
    for name in ("u", "year"):
        formula = f"{outcome} ~ {name} + I({name} ** 2) + I({name} ** 3){effects}"
        both.append(fit_frame(frame, ["g"], formula=formula, **asked))
        assert both[-1].fits()["status"].tolist() == ["fitted"]
    for name in ("params", "bse", "pvalues", "lower", "upper"):
        mine, others = (found.arrays[name][0, -1] for found in reversed(both))
        assert mine == pytest.approx(others, rel=1e-6), name
    for name in ("llf", "rsquared", "scale", "fvalue"):
        mine, others = (found.arrays[name][0] for found in reversed(both))
        assert mine == pytest.approx(others, rel=1e-6, nan_ok=True), name
    if asked["model"] in ("ols", "wls", "logit", "glm") and not effects:
        others, mine = (found.predict(interval=0.9) for found in both)
        for name in mine.columns[1:-1]:
            np.testing.assert_allclose(mine[name], others[name], rtol=1e-6, atol=1e-7)


def test_small_regressors_of_logits_converge(frame: pd.DataFrame) -> None:
    asked: dict[str, Any] = {"model": "logit", "formula": "b ~ x"}
    found = fit_frame(frame.assign(x=frame["x"] * 1e-9), ["g"], **asked)
    theirs = smf.logit("b ~ x", frame).fit(disp=0)
    np.testing.assert_allclose(found.arrays["params"][0] * [1.0, 1e-9], theirs.params, rtol=1e-7)
    assert found.said[0] == "" or "Warning" not in found.said[0]


def test_other_models_of_statsmodels_are_singular(frame: pd.DataFrame) -> None:
    asked: dict[str, Any] = {"path": "statsmodels.api.OLS", "formula": SQUARE}
    found = fit_frame(frame.assign(x=frame["x"] * 1e9), ["g"], model="statsmodels", **asked)
    assert found.fits()["status"].tolist() == ["singular"]
    assert "center and scale" in found.said[0]


@pytest.mark.parametrize("size", [1e-200, 1e-160])
def test_outcomes_whose_squares_vanish_are_constant(frame: pd.DataFrame, size: float) -> None:
    found = fit_frame(frame.assign(y=frame["y"] * size), ["g"], model="ols", formula="y ~ x")
    assert found.fits()["status"].tolist() == ["constant outcome"]
