"""Columns and frames that cannot be are refused, or fail their group with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
import statsmodels.formula.api as smf
from refusal import refusal

from shortloop.panel.data import from_frame
from shortloop.panel.fitting.fit import Fitter
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.frame import fit_frame
from shortloop.panel.models.model import ModelSettings


@pytest.mark.parametrize(
    ("asked", "wrong", "said"),
    [
        ({"model": "wls", "weights": "c"}, -1.0, "c: a weight is below 0 or not finite"),
        ({"model": "wls", "weights": "c"}, np.inf, "c: a weight is below 0 or not finite"),
        ({"model": "ols", "covariance": "cluster", "clusters": "c"}, None, "one cluster of c"),
        ({"model": "ols", "covariance": "cluster", "clusters": ["c", "x"]}, None, "one cluster of c"),
    ],
)
def test_columns_that_cannot_be_fail_their_group(
    asked: dict[str, Any], wrong: float | None, said: str
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": np.repeat([0, 1], 40), "x": rng.standard_normal(80)})
    frame["y"], frame["c"] = rng.standard_normal(80), rng.integers(1, 20, 80).astype(float)
    if wrong is None:
        frame.loc[frame["g"] == 1, "c"] = 1.0
    else:
        frame.loc[50, "c"] = wrong
    for formula in ("y ~ x", "y ~ I(1e9 * x)"):
        found = fit_frame(frame, ["g"], formula=formula, **asked)
        assert found.fits()["status"].tolist() == ["fitted", "failed"]
        assert said in found.said[1]


def test_rows_without_weight_are_none() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": 0, "x": rng.standard_normal(40), "y": rng.standard_normal(40)})
    frame["w"] = np.where(rng.uniform(size=40) < 0.2, 0.0, rng.uniform(0.5, 2.0, 40))
    asked: dict[str, Any] = {"model": "wls", "weights": "w", "formula": "y ~ x"}
    found, part = fit_frame(frame, ["g"], **asked), frame[frame["w"] > 0]
    theirs = smf.wls("y ~ x", part, weights=part["w"]).fit()
    for name in ("bse", "llf", "df_resid", "nobs"):
        np.testing.assert_allclose(found.arrays[name][0], getattr(theirs, name), rtol=1e-9)
    assert np.isfinite(found.predict()["fitted"]).all()


@pytest.mark.parametrize(
    ("rows", "by", "asked", "said"),
    [
        (lambda d: d, [], {}, "no column makes groups"),
        (polars.from_pandas, ["g"], {}, "no frame of pandas"),
        (lambda d: d, ["g"], {"formula": "y ~ xx"}, "one of x, y, other"),
        (lambda d: d, ["g"], {"weights": "ww"}, "one of x, y, other"),
        (lambda d: d.assign(x=d["x"] * 1j), ["g"], {"weights": "y"}, "x: left out: complex numbers"),
        (lambda d: d.astype({"y": object}), ["g"], {}, "infer_objects"),
    ],
)
def test_frames_that_cannot_be(rows: Any, by: list[str], asked: dict[str, Any], said: str) -> None:
    frame = pd.DataFrame({"g": [0, 0], "x": [1.0, 2.0], "y": [1.0, 2.0], "other": [1.0, 2.0]})
    with refusal("", said):
        fit_frame(rows(frame), by, **{"model": "wls", "weights": "x", "formula": "y ~ x", **asked})


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y ~ x + z", "nearly: x, z"),
        ("y ~ x + u", "0 in all rows: u"),
        ("y ~ x + c | c + u", "0 in all rows, once the effects are absorbed: c"),
    ],
)
def test_singular_fits_name_their_regressors(formula: str, said: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": 0, "x": rng.standard_normal(40), "y": rng.standard_normal(40), "u": 0.0})
    frame = frame.assign(z=2 * frame["x"], c=rng.integers(0, 4, 40))
    found = fit_frame(frame, ["g"], model="ols", formula=formula)
    assert found.fits()["status"].tolist() == ["singular"]
    assert said in found.said[0]


def test_one_outcome_may_be_beside_the_formula() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": 0, "x": rng.standard_normal(40), "y": rng.uniform(1, 2, 40)})
    asked: dict[str, Any] = {"model": "ols", "formula": "~ x"}
    found = fit_frame(frame, ["g"], outcomes=("y",), **asked)
    np.testing.assert_array_equal(
        found.arrays["params"], fit_frame(frame, ["g"], model="ols", formula="y ~ x").arrays["params"]
    )
    with refusal("several outcomes"):
        fit_frame(frame, ["g"], outcomes=("y", "x"), **asked)


def test_expressions_of_outcomes_have_residuals_in_new_rows() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": 0, "x": rng.standard_normal(40), "y": rng.uniform(1, 2, 40)})
    made = fit_frame(frame, ["g"], model="ols", formula="np.log(y) ~ x").predict(frame.iloc[3:9])
    np.testing.assert_allclose(made["fitted"] + made["residual"], np.log(frame["y"].iloc[3:9]))


@pytest.mark.filterwarnings("ignore")
def test_models_without_one_coefficient_for_each_regressor_fail() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": 0, "x": rng.standard_normal(60), "y": rng.integers(0, 3, 60)})
    asked: dict[str, Any] = {"model": "statsmodels", "formula": "y ~ x"}
    found = fit_frame(frame, ["g"], path="statsmodels.api.MNLogit", fit={"disp": 0}, **asked)
    assert found.fits()["status"].tolist() == ["failed"]
    assert "not one coefficient for each regressor" in found.said[0]
    with refusal("no such model", "Poison"):
        fit_frame(frame, ["g"], path="statsmodels.api.Poison", **asked)


def test_corrections_that_cannot_be_are_refused() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"g": np.repeat([0, 1], 20), "x": rng.standard_normal(40), "y": rng.uniform(size=40)}
    )
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ x", tests=["x = 0"])
    for table in (found.coefficients, found.tests):
        with refusal("no such correction", "fdr_bh"):
            table("bonferroni")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"model": "statsmodels", "path": "statsmodels.api.Poison"}, "path"),
        ({"model": "lasso", "alpha": 0.1, "scoring": ["r3"]}, "scoring"),
    ],
)
def test_settings_that_cannot_be_have_the_place_of_their_model(asked: dict[str, Any], field: str) -> None:
    model = ModelSettings.named(asked["model"]).model_validate({**asked, "formula": "y ~ x"})
    frame = pd.DataFrame({"g": [0, 0], "x": [1.0, 2.0], "y": [1.0, 2.0]})
    with refusal("no such", field=f"models.plain.{field}"):
        Fitter(model, Equation("y ~ x", where="models.plain.formula"), from_frame(frame, ["g"]))


def test_penalized_fits_have_no_tests_and_need_a_regressor() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": 0, "x": rng.standard_normal(40), "y": rng.standard_normal(40)})
    with refusal("", "no standard errors to test with"):
        fit_frame(frame, ["g"], model="ridge", alpha=0.1, formula="y ~ x", tests=["x = 0"])
    found = fit_frame(frame, ["g"], model="ridge", alpha=0.1, formula="y ~ 1")
    assert found.said == ["no regressor beside the constant"]


def test_columns_named_by_numbers() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({0: np.repeat([1, 2], 20), 1: rng.standard_normal(40), 2: rng.standard_normal(40)})
    found = fit_frame(frame, [0], model="ols", formula="`2` ~ Q('1')")  # type: ignore[list-item]
    as_texts = fit_frame(frame.rename(columns=str), ["0"], model="ols", formula="`2` ~ Q('1')")
    pd.testing.assert_frame_equal(found.coefficients(), as_texts.coefficients())
    assert len(found.predict(frame.head(3))) == 3


def test_columns_of_several_levels_and_groups_in_the_index() -> None:
    frame = pd.DataFrame({"g": [1, 1, 1], "x": [1.0, 2.0, 4.0], "y": [1.0, 3.0, 2.0]})
    levels = frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1)
    with refusal("columns have several levels", "join the levels"):
        fit_frame(levels, ["g"], model="ols", formula="y ~ x")
    with refusal("no such column", "reset_index"):
        fit_frame(frame.set_index("g"), ["g"], model="ols", formula="y ~ x")
