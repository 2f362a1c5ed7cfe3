"""A formula in every group: what statsmodels gives group by group, however it was fitted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortloop.errors import InputError
from shortloop.panel import status
from shortloop.panel.data import from_frame
from shortloop.panel.design import Equation
from shortloop.panel.fit import Fits, Fitter
from shortloop.panel.models.base import ModelSettings

smf = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")


def panel(groups: int = 12, rows: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = groups * rows
    frame = pd.DataFrame(
        {
            "g": rng.permutation(np.repeat(np.arange(groups), rows)),
            "x": rng.standard_normal(n),
            "z": rng.uniform(1, 5, n),
            "w": rng.uniform(0.5, 2, n),
            "k": np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
            "c": rng.integers(0, 15, n),
        }
    )
    frame["y"] = 1 + 2 * frame["x"] - frame["z"] + (frame["k"] == "b") + rng.standard_normal(n)
    frame["b"] = (rng.uniform(size=n) < 1 / (1 + np.exp(-frame["x"]))).astype(float)
    return frame


def fitted(
    frame: pd.DataFrame, outcome: str | None = None, **settings: Any
) -> tuple[Fits, list[tuple[str, ...]]]:
    model = ModelSettings.model_validate(settings)
    made = from_frame(frame, ["g"])
    fitter = Fitter(model, Equation(model.formula, outcome), made.columns, made.starts)
    return fitter.fit(), list(made.keys)


def same(fits: Fits, g: int, theirs: Any, batched: bool | None = None) -> None:
    """See that a group is as statsmodels has it, coefficient by coefficient."""
    if batched is not None:
        assert (fits.path[g] == 0) == batched, fits.said.get(g)
    params = dict(zip(fits.names, fits.statistics.params[g], strict=True))
    bse = dict(zip(fits.names, fits.statistics.bse[g], strict=True))
    for name, expected in theirs.params.items():
        scale = max(abs(expected), theirs.bse[name])
        assert abs(params[name] - expected) <= 1e-9 * scale, name
        assert bse[name] == pytest.approx(theirs.bse[name], rel=1e-8), name
    assert {name for name, value in params.items() if np.isfinite(value)} == set(theirs.params.index)
    assert fits.statistics.nobs[g] == theirs.nobs
    for name in ("llf", "aic"):
        if hasattr(theirs, name):
            assert getattr(fits.statistics, name)[g] == pytest.approx(getattr(theirs, name), rel=1e-9)


def each(frame: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    return {str(key): part for key, part in frame.groupby("g")}


@pytest.mark.parametrize(
    "formula", ["y ~ x + z", "y ~ x * z - 1", "np.log(z) ~ x + I(x**2)", "y ~ x + C(k)", "y ~ k:x"]
)
def test_it_is_a_formula_in_a_groupby(formula: str) -> None:
    frame = panel()
    fits, keys = fitted(frame, model="ols", formula=formula)
    assert (fits.status == status.FITTED).all()
    for g, (key,) in enumerate(keys):
        theirs = smf.ols(formula, each(frame)[key]).fit()
        same(fits, g, theirs, batched=True)


def test_a_group_that_lacks_a_text_has_no_coefficient_of_it() -> None:
    frame = panel()
    frame = frame[~((frame["g"] == 3) & (frame["k"] == "c")) & ~((frame["g"] == 5) & (frame["k"] == "a"))]
    fits, keys = fitted(frame, model="ols", formula="y ~ x + k")
    for g, (key,) in enumerate(keys):
        same(fits, g, smf.ols("y ~ x + k", each(frame)[key]).fit(), batched=g not in (3, 5))
    assert "there are no k[T.c]" in " ".join(fits.said[3])
    assert "there are no k[T.b]" in " ".join(fits.said[5])


def test_what_is_scaled_is_scaled_in_its_group() -> None:
    frame = panel()
    fits, keys = fitted(frame, model="ols", formula="y ~ scale(x)")
    for g, (key,) in enumerate(keys):
        part = each(frame)[key].assign(s=lambda d: (d["x"] - d["x"].mean()) / d["x"].std())
        theirs = smf.ols("y ~ s", part).fit()
        np.testing.assert_allclose(fits.statistics.params[g], theirs.params, rtol=1e-9)


@pytest.mark.parametrize("column", ["y", "x", "k", "w"])
def test_rows_that_lack_a_value_are_left_out(column: str) -> None:
    frame = panel()
    lacking = frame.index[frame["g"] == 4][:7]
    frame.loc[lacking, column] = None if column == "k" else np.nan
    fits, keys = fitted(frame, model="wls", weights="w", formula="y ~ x + k")
    for g, (key,) in enumerate(keys):
        part = each(frame)[key].dropna(subset=["y", "x", "k", "w"])
        same(fits, g, smf.wls("y ~ x + k", part, weights=part["w"]).fit(), batched=True)
    assert fits.statistics.nobs[4] == 53
    fits, _ = fitted(frame, model="wls", weights="w", formula="y ~ x + k", missing="raise")
    assert fits.status[4] == status.MISSING_VALUES
    assert np.isnan(fits.statistics.params[4]).all()
    assert (np.delete(fits.status, 4) == status.FITTED).all()


def test_clusters_are_those_of_a_group() -> None:
    frame = panel()
    frame["c"] = frame["c"].map("c{:02d}".format)
    fits, keys = fitted(frame, model="ols", formula="y ~ x", covariance="cluster", clusters="c")
    for g, (key,) in enumerate(keys):
        part = each(frame)[key]
        theirs = smf.ols("y ~ x", part).fit(
            cov_type="cluster", cov_kwds={"groups": pd.factorize(part["c"], sort=True)[0]}
        )
        same(fits, g, theirs, batched=True)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "logit", "formula": "b ~ x + z"},
        {"model": "glm", "family": "binomial", "formula": "b ~ x"},
        {"model": "glm", "family": "poisson", "formula": "c ~ x"},
        {"model": "glm", "family": "gamma", "link": "log", "formula": "z ~ x"},
        {"model": "rlm", "formula": "y ~ x"},
        {"model": "quantreg", "quantile": 0.3, "formula": "y ~ x"},
        {
            "model": "statsmodels",
            "path": "statsmodels.discrete.discrete_model.Probit",
            "formula": "b ~ x",
            "fit": {"disp": 0},
        },
    ],
    ids=lambda settings: settings.get("family", settings["model"]),
)
def test_other_models(settings: dict[str, Any]) -> None:
    frame = panel(groups=4)
    fits, keys = fitted(frame, **settings)
    model = ModelSettings.model_validate(settings)
    for g, (key,) in enumerate(keys):
        part = each(frame)[key]
        outcome, _, regressors = settings["formula"].partition(" ~ ")
        rows = np.column_stack([np.ones(len(part)), *(part[name] for name in regressors.split(" + "))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = model.fit_one(part[outcome].to_numpy(float), rows, {})
        np.testing.assert_allclose(fits.statistics.params[g], theirs.params, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(fits.statistics.bse[g], theirs.bse, rtol=1e-8)
        np.testing.assert_allclose(fits.statistics.pvalues[g], theirs.pvalues, rtol=1e-6, atol=1e-12)
        stopped = model.has_converged(theirs) is False  # after 1,000 iterations of quantreg
        assert fits.status[g] == (status.NOT_CONVERGED if stopped else status.FITTED)


def test_fits_that_fail_are_rows_with_a_reason() -> None:
    frame = panel(groups=8, rows=40)
    frame["double"] = np.where(frame["g"] == 0, frame["x"], frame["w"])
    frame.loc[frame["g"] == 1, "y"] = 3.0
    frame = frame.drop(frame.index[frame["g"] == 2][3:])
    frame.loc[frame.index[frame["g"] == 3][0], "z"] = np.inf
    frame.loc[frame["g"] == 4, "y"] = np.nan
    fits, _ = fitted(frame, model="ols", formula="y ~ x + double + z")
    assert [status.STATUSES[each] for each in fits.status] == [
        "singular",
        "constant outcome",
        "too few rows",
        "values not finite",
        "too few rows",
        "fitted",
        "fitted",
        "fitted",
    ]


@pytest.mark.parametrize("model", [{"model": "logit"}, {"model": "glm", "family": "binomial"}])
def test_separation_is_told(model: dict[str, str]) -> None:
    frame = panel(groups=4, rows=80)
    frame.loc[frame["g"] == 1, "b"] = (frame["x"] > 0.2).astype(float)  # wholly
    half = (frame["g"] == 2) & (frame["k"] == "a")
    frame.loc[half, "b"] = 1.0  # quasi: whoever is "a" has it
    frame["a"] = (frame["k"] == "a").astype(float)
    frame.loc[frame["g"] == 3, "b"] = 1.0
    fits, _ = fitted(frame, formula="b ~ a + x", **model)
    assert [status.STATUSES[each] for each in fits.status] == [
        "fitted",
        "separated",
        "separated",
        "constant outcome",
    ]


@pytest.mark.parametrize("unit", [1.0, 1e4, 1e5, 1e9])
def test_separation_is_told_in_any_unit(unit: float) -> None:
    """statsmodels stops at once where coefficients are tiny, and says that it converged."""
    frame = panel(groups=3, rows=80)
    frame["a"] = unit * (frame["k"] == "a")
    frame.loc[(frame["g"] == 1) & (frame["k"] == "a"), "b"] = 1.0
    fits, _ = fitted(frame, formula="b ~ a - 1", model="logit")
    assert status.STATUSES[fits.status[1]] == "separated"
    if unit < 1e9:
        assert status.STATUSES[fits.status[0]] == "fitted"
    else:
        assert status.STATUSES[fits.status[0]] == "not converged"


@pytest.mark.parametrize(
    "model",
    [{"model": "ols"}, {"model": "rlm"}, {"model": "statsmodels", "path": "statsmodels.api.OLS"}],
)
def test_only_models_of_a_probability_are_separated(model: dict[str, str]) -> None:
    frame = panel(groups=2, rows=80)
    frame["b"] = (frame["x"] > 0.2).astype(float)
    frame["far"] = 1e7 + frame["x"]  # so that it is handed over
    fits, _ = fitted(frame, formula="b ~ far", **model)
    assert (fits.path == 1).all()
    assert status.SEPARATED not in fits.status


def test_a_double_column_is_told_where_statsmodels_is_silent() -> None:
    frame = panel(groups=3)
    frame["double"] = frame["x"] + np.where(frame["g"] == 1, 0.0, frame["w"])
    for model in ({"model": "glm", "family": "poisson"}, {"model": "rlm"}):
        fits, _ = fitted(frame, formula="c ~ x + double", **model)
        assert [status.STATUSES[each] for each in fits.status] == ["fitted", "singular", "fitted"]


def test_each_fit_is_the_same_whatever_is_beside_it() -> None:
    frame = panel(groups=9)
    model = ModelSettings.model_validate({"model": "ols", "formula": "y ~ x + k", "covariance": "HC3"})
    made = from_frame(frame, ["g"])
    fitter = Fitter(model, Equation(model.formula), made.columns, made.starts)
    whole = fitter.fit()
    for first, last in ((0, 1), (3, 7), (8, 9)):
        part = fitter.fit(first, last)
        for name in vars(whole.statistics):
            both = (getattr(whole.statistics, name)[first:last], getattr(part.statistics, name))
            np.testing.assert_array_equal(*both, err_msg=name)


@pytest.mark.parametrize(
    ("formula", "outcome", "words"),
    [
        ("y ~ x +", None, "this is no formula"),
        ("~ x", None, "says no outcome"),
        ("y ~ x", "z", "outcome is said twice"),
        ("y ~ nosuch", None, "no such column"),
        ("k ~ x", None, "not one column of numbers"),
        ("y ~ np.linalg.inv(x)", None, "cannot be computed"),
    ],
)
def test_formulas_that_cannot_be(formula: str, outcome: str | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fitted(panel(), outcome, model="ols", formula=formula)


@pytest.mark.parametrize(
    ("family", "wrong", "said"),
    [
        ("poisson", -1.0, "below 0"),
        ("binomial", -1.0, "below 0 or above 1"),
        ("binomial", 2.0, "below 0 or above 1"),
        ("gamma", 0.0, "0 or below"),
        ("gamma", -1.0, "0 or below"),
    ],
)
def test_outcomes_that_a_family_cannot_have_are_told(family: str, wrong: float, said: str) -> None:
    """statsmodels fits them, and says nothing."""
    frame = panel(groups=2)
    frame["y"] = frame["b"] if family == "binomial" else frame["c"] + 1.0
    frame.loc[frame.index[frame["g"] == 1][3], "y"] = wrong
    found, _ = fitted(
        frame, model="glm", family=family, link="log" if family == "gamma" else None, formula="y ~ x"
    )
    assert found.status.tolist() == [status.FITTED, status.FAILED]
    assert f"the family {family} cannot have: {said}" in " ".join(found.said[1])
