"""Expressions that look at several rows, such as `center(x)` or `bs(x)`: one group's rows, and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formulaic import model_matrix
from no_warnings import no_warnings
from panel_real import real_table

from shortloop.base.errors import InputError
from shortloop.panel.frame import fit_frame
from shortloop.panel.results import Results

FORMULAS = (
    *("lwage ~ bs(exper, df=4) + hours", "lwage ~ poly(hours, 2)", "lwage ~ center(hours) * married"),
    *("lwage ~ scale(hours) + C(union)", "lwage ~ hours.clip(lower=1000) + np.clip(exper, 3, 9)"),
    *("lwage ~ I(hours - hours.mean()) + lag(exper)", "lwage ~ hours.clip(0, hours.quantile(0.9))"),
    *("lwage ~ exper.rank() + I(hours > hours.median())", "lwage ~ I(hours - hours[0]) + educ"),
    *("I(lwage - lwage.mean()) ~ cs(exper, df=4) - 1", "lwage ~ np.column_stack([hours, hours.cumsum()])"),
)


@pytest.fixture(scope="module")
def wages() -> pd.DataFrame:
    """545 persons in 8 years, in random order, where some values are missing."""
    frame = real_table("linearmodels.datasets.wage_panel")
    frame["hours"] = frame["hours"].astype(float)
    frame.loc[frame.sample(frac=0.1, random_state=1).index, "hours"] = np.nan
    return frame.sample(frac=1.0, random_state=2).reset_index(drop=True)


def coefficients(found: Results, group: int) -> dict[str, float]:
    values = zip(found.names, found.arrays["params"][group], strict=True)
    return {name: value for name, value in values if not np.isnan(value)}


def assert_as_formulaic_and_statsmodels(frame: pd.DataFrame, formula: str) -> Results:
    """Judge each year: of all its rows, or of complete ones if a missing value leaves none of all."""
    found = fit_frame(frame, ["year"], model="ols", formula=formula)
    for group, (_, part) in enumerate(frame.groupby("year")):
        design = model_matrix(formula, part.reset_index(drop=True), na_action="drop")
        if not len(design.rhs):
            design = model_matrix(formula, part.dropna().reset_index(drop=True))
        theirs = sm.OLS(np.asarray(design.lhs, float)[:, 0], np.asarray(design.rhs, float)).fit()
        known = dict(zip(map(str, design.rhs.columns), theirs.params, strict=True))
        assert coefficients(found, group) == pytest.approx(known, rel=1e-6, abs=1e-9)
        assert found.arrays["nobs"][group] == len(design.rhs)
        errors = found.arrays["bse"][group]
        np.testing.assert_allclose(errors[~np.isnan(errors)], theirs.bse, rtol=1e-6)
    return found


@pytest.mark.parametrize("formula", FORMULAS)
def test_each_group_is_as_formulaic_and_statsmodels_have_it(wages: pd.DataFrame, formula: str) -> None:
    found = assert_as_formulaic_and_statsmodels(wages, formula)
    assert (np.asarray(found.arrays["path"]) == 0).all(), found.said


def test_groups_with_other_categories_keep_their_means(wages: pd.DataFrame) -> None:
    """Their designs are made once more, for their own levels, and the rows left out still count."""
    wages = wages.assign(kind=np.where((wages["year"] < 1983) & (wages["union"] == 1), "a", "b"))
    wages.loc[wages["year"] == 1987, "kind"] = "c"
    assert_as_formulaic_and_statsmodels(wages, "lwage ~ center(exper) * hours + lag(exper) + C(kind)")


def test_a_group_that_cannot_be_computed_does_not_keep_others_from_it(wages: pd.DataFrame) -> None:
    """Two rows have no third; a group without values has no mean."""
    short = wages[(wages["year"] != 1980) | (wages.groupby("year").cumcount() < 2)].copy()
    short.loc[short["year"] == 1984, "hours"] = np.nan
    formula = "lwage ~ I(exper / exper.iloc[2]) + center(hours)"
    with no_warnings():
        found = fit_frame(short, ["year"], model="ols", formula=formula)
    status = found.fits()["status"].tolist()
    assert status.count("fitted") == 6
    assert status[0] == "failed"
    assert "out-of-bounds" in found.said[0]
    assert np.isnan(found.arrays["params"][[0, 4]]).all()


@pytest.mark.parametrize(
    "expression",
    [
        *("lag(old)", "kind.map({'x': 1, 'y': 2})", "hours.sort_values()"),
        *("I(big.clip(lower=0) * big / 1e24)", "I(big.fillna(value=0) * big / 1e24)", "old.shift(1)"),
    ],
)
def test_values_that_formulaic_does_not_take_for_numbers(wages: pd.DataFrame, expression: str) -> None:
    """Truth values with gaps and objects are categories, rows go to their index, integers do not wrap."""
    frame = wages.dropna().assign(old=wages["exper"] > 6, big=2**40 + wages["educ"] * 10**9)
    frame["kind"] = pd.Categorical(np.where(frame["married"] == 1, "x", "y"))
    frame = frame[frame["year"] < 1983].reset_index(drop=True)
    formula = f"lwage ~ exper + {expression}"
    found = fit_frame(frame, ["year"], model="ols", formula=formula)
    compared = 0
    for group, (_, part) in enumerate(frame.assign(big=frame["big"].astype(float)).groupby("year")):
        design = model_matrix(formula, part.reset_index(drop=True), na_action="drop", context={"pd": pd})
        if found.arrays["status"][group] == 0:
            theirs = sm.OLS(np.asarray(design.lhs, float)[:, 0], np.asarray(design.rhs, float)).fit()
            known = dict(zip(map(str, design.rhs.columns), theirs.params, strict=True))
            assert coefficients(found, group) == pytest.approx(known, rel=1e-6, abs=1e-9)
            compared += 1
    assert compared == 3


FRAME = pd.DataFrame({"g": 1, "x": np.arange(9.0), "y": np.arange(9.0) ** 2})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "ols", "covariance": "HC9"}, "covariance.*'HC9'.*'cluster' or 'HAC'"),
        ({"model": "nosuch"}, "no such model.*'nosuch'.*one of elasticnet, glm"),
        ({}, "no such model.*one of elasticnet"),
        ({"model": 3}, "no such model.*3.*one of elasticnet"),
        ({"model": "ols", "weights": "x"}, "ols has no such setting.*weights.*one of .*covariance"),
        ({"model": "wls"}, "missing setting.*weights.*weights=…"),
        ({"model": "statsmodels"}, "missing setting.*path=…"),
        ({"model": "ols", "covariance": "cluster"}, "the column is needed for covariance 'cluster'"),
        ({"model": "ols", "formula": ""}, "formula.*at least 1 character"),
        ({"model": "ols", "level": 95}, "level.*95.*between 0 and 1"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        fit_frame(FRAME, ["g"], **{"formula": "y ~ x", **settings})
    assert pd.Series([" ".join(str(caught.value).split())]).str.contains(said).all(), caught.value
    assert "pydantic" not in str(caught.value)


def test_one_column_may_make_groups() -> None:
    assert fit_frame(FRAME, "g", model="ols", formula="y ~ x").fits()["status"].tolist() == ["fitted"]


def test_a_group_of_its_own_is_no_other(wages: pd.DataFrame) -> None:
    """To the bit, also where expressions make texts or categories, which are evaluated alone."""
    frame = wages.assign(kind=wages["year"].map(lambda year: "ab"[year % 2]) + wages["union"].astype(str))
    for formula in ("lwage ~ C(pd.cut(exper, 3))", "lwage ~ C(kind == kind.mode()[0]) + scale(exper)"):
        found = fit_frame(frame, ["year"], model="ols", formula=formula)
        for group, (_, part) in enumerate(frame.groupby("year")):
            alone = fit_frame(part, ["year"], model="ols", formula=formula)
            assert coefficients(found, group) == coefficients(alone, 0)
            assert alone.fits()["status"].tolist() == [found.fits()["status"][group]]
