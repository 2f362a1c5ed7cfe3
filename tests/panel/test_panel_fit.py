"""A formula in every group: what statsmodels gives group by group, however it was fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from formulaic import Formula
from refusal import refusal

from shortloop.panel.data import from_frame
from shortloop.panel.fitting.fit import Fits, Fitter
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.frame import fit_frame
from shortloop.panel.models.model import ModelSettings
from shortloop.panel.statistics import STATUSES, Status


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
    return Fitter(model, Equation(model.formula, outcome), made).fit(), list(made.keys)


def same(fits: Fits, g: int, theirs: Any, batched: bool | None = None) -> None:
    """See that a group is as statsmodels has it, coefficient by coefficient."""
    if batched is not None:
        assert (fits.arrays["path"][g] == 0) == batched, fits.said.get(g)
    params = dict(zip(fits.names, fits.arrays["params"][g], strict=True))
    bse = dict(zip(fits.names, fits.arrays["bse"][g], strict=True))
    for name, expected in theirs.params.items():
        scale = max(abs(expected), theirs.bse[name])
        assert abs(params[name] - expected) <= 1e-9 * scale, name
        assert bse[name] == pytest.approx(theirs.bse[name], rel=1e-8), name
    assert {name for name, value in params.items() if np.isfinite(value)} == set(theirs.params.index)
    assert fits.arrays["nobs"][g] == theirs.nobs
    for name in ("llf", "aic"):
        if hasattr(theirs, name):
            assert fits.arrays[name][g] == pytest.approx(getattr(theirs, name), rel=1e-9)


def each(frame: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    return {str(key): part for key, part in frame.groupby("g")}


def lacking_texts() -> pd.DataFrame:
    frame = panel()
    return frame[
        ~((frame["g"] == 3) & (frame["k"] == "c")) & ~((frame["g"] == 5) & (frame["k"] == "a"))
    ].reset_index(drop=True)


@pytest.mark.parametrize("formula", ["y ~ x + k", "y ~ k:x", "y ~ C(k, contr.sum) + x", "y ~ C(c) * k"])
def test_a_group_that_lacks_a_text_has_no_coefficient_of_it(formula: str) -> None:
    frame = lacking_texts()
    frame["c"] = frame["c"] // 5 + (frame["g"] == 7)  # numbers that are categories: of 7, none is 0
    fits, keys = fitted(frame, model="ols", formula=formula)
    for g, (key,) in enumerate(keys):
        part = each(frame)[key]
        design = Formula(formula).get_model_matrix(part)
        same(fits, g, sm.OLS(design.lhs, design.rhs).fit(), batched=True)
    said = fit_frame(lacking_texts(), ["g"], model="ols", formula="y ~ x + k").said
    assert said[3:6] == ["in this group there are no k[T.c]", "", "in this group there are no k[T.b]"]


@pytest.mark.parametrize(
    ("formula", "covariance"),
    [
        *product(
            ("y ~ x + k", "y ~ C(c) + k:x", "y ~ scale(x) + k", "np.log(z - 2) ~ C(k)"), ("HC3", "cluster")
        ),
        *product(
            (
                *("y ~ I(x - np.mean(x))", "y ~ I(x - x.mean())", "y ~ x + lag(x)", "y ~ poly(x, 2)"),
                *("y ~ x + I(np.cumsum(x))", "y ~ x + np.sort(x)", "np.cumsum(y) ~ x", "y ~ center(x)"),
                *("y ~ bs(x, df=4)", "y ~ x + C(x > np.median(x))", "y ~ np.where(x > 2, x, 0) + I(x**2)"),
            ),
            ("nonrobust",),
        ),
    ],
)
def test_a_group_is_fitted_as_if_there_were_no_other(formula: str, covariance: str) -> None:
    frame = lacking_texts()
    frame.loc[frame.index[frame["g"] == 1][:5], "k"] = "only"
    frame.loc[frame.index[frame["g"] == 1][5], "k"] = None
    frame.loc[frame["g"] == 2, "y"] = np.nan
    settings: dict[str, Any] = {"model": "ols", "formula": formula, "covariance": covariance}
    settings |= {"clusters": "k"} if covariance == "cluster" else {}
    found = fit_frame(frame, ["g"], **settings)
    assert (found.arrays["status"] == Status.FITTED).sum() >= 3
    for g, (key,) in enumerate(found.keys):
        alone = fit_frame(each(frame)[key], ["g"], **settings)
        place = [found.names.index(name) for name in alone.names]
        for name, values in found.arrays.items():
            mine = values[g, place] if values.ndim == 2 else values[g]
            np.testing.assert_array_equal(mine, alone.arrays[name][0], err_msg=name)


def test_a_text_that_only_rows_without_a_value_have_is_none() -> None:
    frame = panel(groups=3)
    some = frame.index[frame["g"] == 1][:4]
    frame.loc[some, "k"], frame.loc[some, "z"] = "only", -1.0
    for formula in ("y ~ k + np.log(z)", "y ~ C(k, contr.treatment('a')) + np.log(z)"):
        fits, _ = fitted(frame, model="ols", formula=formula)
        assert fits.arrays["status"].tolist() == [Status.FITTED] * 3
        params = smf.ols("y ~ k + np.log(z)", frame.drop(some)[lambda d: d["g"] == 1]).fit().params
        mine = fits.arrays["params"][1]
        np.testing.assert_allclose(mine[np.isfinite(mine)], params, rtol=1e-9)


def test_a_group_that_lacks_the_reference_does_not_end_the_others() -> None:
    frame = lacking_texts()
    fits, _ = fitted(frame, model="ols", formula="y ~ x + C(k, contr.treatment('a'))")
    assert fits.arrays["status"].tolist() == [Status.FAILED if g == 5 else Status.FITTED for g in range(12)]
    assert "'a'" in fits.said[5][0]
    frame = frame[(frame["g"] != 0) | (frame["k"] != "c")]
    for some in (frame, frame[frame["g"] < 2]):  # a contrast of two texts, which only one group has
        fits, _ = fitted(some, model="ols", formula="y ~ C(k, {'z': [1, -1]}) + x")
        part = some[some["g"] == 0].assign(c=lambda d: np.where(d["k"] == "a", 1.0, -1.0))
        theirs = smf.ols("y ~ c + x", part).fit()
        np.testing.assert_allclose(fits.arrays["params"][0], theirs.params, rtol=1e-9)
        assert fits.arrays["status"][:2].tolist() == [Status.FITTED, Status.FAILED]


@pytest.mark.parametrize(
    ("formula", "names"),
    [
        ("y ~ `net.x` + `z z`", ("net.x", "z z")),
        ("y ~ np.exp(`net.x`) + C(`z z` > 2)", ("np.exp(`net.x`)", "C(`z z` > 2)[T.True]")),
        ("y ~ Q('z z') + C", ("Q('z z')", "C")),
    ],
)
def test_names_of_columns_may_be_any(formula: str, names: tuple[str, ...]) -> None:
    frame = panel(groups=2)
    plain = {"np.exp(`net.x`)": np.exp(frame["x"]), "C(`z z` > 2)[T.True]": frame["z"] > 2}
    plain |= {"net.x": frame["x"], "z z": frame["z"], "Q('z z')": frame["z"], "C": frame["w"]}
    frame = frame.rename(columns={"x": "net.x", "z": "z z"} | ({"w": "C"} if "C" in names else {}))
    fits, _ = fitted(frame, model="ols", formula=formula)
    assert fits.names == ("Intercept", *names)
    design = sm.add_constant(np.column_stack([plain[name].astype(float) for name in names]))
    for g in range(2):
        rows = (frame["g"] == g).to_numpy()
        params = sm.OLS(frame["y"].to_numpy()[rows], design[rows]).fit().params
        np.testing.assert_allclose(fits.arrays["params"][g], params, rtol=1e-9)
    assert (fits.arrays["path"] == 0).all()


@pytest.mark.parametrize("column", ["y", "x", "k", "w"])
def test_rows_that_lack_a_value_are_left_out(column: str) -> None:
    frame = panel()
    lacking = frame.index[frame["g"] == 4][:7]
    frame.loc[lacking, column] = None if column == "k" else np.nan
    fits, keys = fitted(frame, model="wls", weights="w", formula="y ~ x + k")
    for g, (key,) in enumerate(keys):
        part = each(frame)[key].dropna(subset=["y", "x", "k", "w"])
        same(fits, g, smf.wls("y ~ x + k", part, weights=part["w"]).fit(), batched=True)
    assert fits.arrays["nobs"][4] == 53
    fits, _ = fitted(frame, model="wls", weights="w", formula="y ~ x + k", missing="raise")
    assert fits.arrays["status"][4] == Status.MISSING_VALUES
    assert np.isnan(fits.arrays["params"][4]).all()
    assert (np.delete(fits.arrays["status"], 4) == Status.FITTED).all()


def test_fits_that_fail_are_rows_with_a_reason() -> None:
    frame = panel(groups=8, rows=40)
    frame["double"] = np.where(frame["g"] == 0, frame["x"], frame["w"])
    frame.loc[frame["g"] == 1, "y"] = 3.0
    frame = frame.drop(frame.index[frame["g"] == 2][3:])
    frame.loc[frame.index[frame["g"] == 3][0], "z"] = np.inf
    frame.loc[frame["g"] == 4, "y"] = np.nan
    fits, _ = fitted(frame, model="ols", formula="y ~ x + double + z")
    statuses = ["singular", "constant outcome", "too few rows", "values not finite", "too few rows"]
    assert [STATUSES[each] for each in fits.arrays["status"]] == [*statuses, "fitted", "fitted", "fitted"]


@pytest.mark.parametrize("formula", ["y ~ x * z", "y ~ x * C(k)", "y ~ x:C(k)", "y ~ np.exp(x):z"])
def test_zero_times_infinity_is_no_missing_value(formula: str) -> None:
    """statsmodels refuses such a group; its row was left out as one that lacks a value, without a word."""
    frame = panel(groups=3)
    frame.loc[frame.index[frame["g"] == 1][0], ["x", "z"]] = np.inf, 0.0
    frame.loc[frame.index[frame["g"] == 2][0], "x"] = np.nan
    fits, _ = fitted(frame, model="ols", formula=formula)
    assert fits.arrays["status"].tolist() == [Status.FITTED, Status.VALUES_NOT_FINITE, Status.FITTED]
    assert fits.arrays["nobs"].tolist() == [60, 60, 59]


@pytest.mark.parametrize(
    "model",
    [{"model": "ols"}, {"model": "glm", "family": "poisson", "link": "sqrt"}, {"model": "rlm"}],
    ids=lambda model: model["model"],
)
def test_a_constant_outcome_is_told_whatever_fits_it(model: dict[str, str]) -> None:
    frame = panel(groups=3)
    frame.loc[frame["g"] == 1, "c"] = 2
    frame = frame.drop(frame.index[frame["g"] == 2])
    fits, _ = fitted(frame, formula="c ~ x - 1", **model)
    assert fits.arrays["status"].tolist() == [Status.FITTED, Status.CONSTANT_OUTCOME]


def test_the_scale_of_logit_is_there_whatever_fits_it() -> None:
    frame = panel(groups=2, rows=200)
    frame["far"] = frame["x"] + np.where(frame["g"] == 1, 1e7, 0.0)
    fits, _ = fitted(frame, model="logit", formula="b ~ far")
    assert fits.arrays["path"].tolist() == [0, 1]
    assert fits.arrays["scale"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("settings", [{"family": "gaussian"}, {"family": "gamma", "link": "log"}])
def test_what_is_hardly_off_its_fit_is_left_to_statsmodels(settings: dict[str, str]) -> None:
    """Rounding shows in coefficients beside errors that are this small, as of least squares."""
    frame = panel(groups=2)
    mean = 5 + frame["x"] + frame["z"]
    off = np.where(frame["g"] == 0, 1e-2, 1e-9) * np.sin(np.arange(len(frame)))
    frame["y"] = np.exp(mean + off) if "link" in settings else mean + off
    fits, keys = fitted(frame, model="glm", formula="y ~ x + z", **settings)
    assert fits.arrays["path"].tolist() == [0, 1]
    for g, (key,) in enumerate(keys):
        part = each(frame)[key]
        family = sm.families.Gamma(sm.families.links.Log()) if "link" in settings else sm.families.Gaussian()
        theirs = sm.GLM(part["y"], sm.add_constant(part[["x", "z"]]), family=family).fit()
        scale = 1e-9 if g == 0 else 1e-5
        assert (np.abs(fits.arrays["params"][g] - theirs.params) <= scale * theirs.bse + 1e-13).all()


@pytest.mark.parametrize("defect", ["far", "nearly a sum", "one row far out"])
@pytest.mark.parametrize("seed", range(5))
def test_regressors_of_bad_shape_separate_nothing(defect: str, seed: int) -> None:
    """Linear programs are solved to 1e-7 as a rule, and a row may be this near to a plane."""
    frame = panel(groups=1, rows=89, seed=seed)
    if defect == "far":
        frame["x"] += 3e6
    elif defect == "nearly a sum":
        frame["x"] = frame["z"] + 1e-8 * frame["x"]
    else:
        frame.loc[np.flatnonzero(frame["b"])[0], "z"] = 5e7
    for model in ({"model": "logit"}, {"model": "glm", "family": "binomial"}):
        fits, _ = fitted(frame, formula="b ~ k:x + z", **model)
        assert fits.arrays["status"][0] != Status.SEPARATED


@pytest.mark.parametrize("unit", [1.0, 1e4, 1e5, 1e9])
def test_separation_is_told_in_any_unit(unit: float) -> None:
    """statsmodels stops at once where coefficients are tiny, and says that it converged."""
    frame = panel(groups=3, rows=80)
    frame["a"] = unit * (frame["k"] == "a")
    frame.loc[(frame["g"] == 1) & (frame["k"] == "a"), "b"] = 1.0
    fits, _ = fitted(frame, formula="b ~ a - 1", model="logit")
    assert STATUSES[fits.arrays["status"][1]] == "separated"
    if unit < 1e9:
        assert STATUSES[fits.arrays["status"][0]] == "fitted"
    else:
        assert STATUSES[fits.arrays["status"][0]] == "not converged"


@pytest.mark.parametrize(
    "model", [{"model": "ols"}, {"model": "rlm"}, {"model": "statsmodels", "path": "statsmodels.api.OLS"}]
)
def test_only_models_of_a_probability_are_separated(model: dict[str, str]) -> None:
    frame = panel(groups=2, rows=80)
    frame["b"] = (frame["x"] > 0.2).astype(float)
    frame["far"] = 2e9 + frame["x"]  # so that it is handed over
    fits, _ = fitted(frame, formula="b ~ far", **model)
    assert (fits.arrays["path"] == 1).all()
    assert Status.SEPARATED not in fits.arrays["status"]


@pytest.mark.parametrize(
    ("formula", "outcome", "words"),
    [
        ("y ~ x +", None, "invalid formula"),
        ("~ x", None, "has no outcome"),
        ("y ~ 0", None, "has no regressor"),
        ("y ~ x", "z", "outcome is given twice"),
        ("y ~ nosuch", None, "no such column"),
        ("k ~ x", None, "not one column of numbers"),
        ("y ~ np.linalg.inv(x)", None, "cannot be computed"),
        ("y ~ x | z | w", None, "several parts"),
        ("y | z ~ x", None, "several parts"),
        ("y ~ (x > 0)", None, r"I\(x > 0\)"),  # Python without brackets
        ("y ~ C(k, contr.treatment('A'))", None, "in any group(.|\n)*'A'"),
    ],
)
def test_formulas_that_cannot_be(formula: str, outcome: str | None, words: str) -> None:
    fit: Callable[..., object] = partial(fitted, outcome=outcome) if outcome else partial(fit_frame, by=["g"])
    with refusal(words):
        fit(panel(), model="ols", formula=formula)


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
    assert found.arrays["status"].tolist() == [Status.FITTED, Status.FAILED]
    assert f"the family {family} cannot have: {said}" in " ".join(found.said[1])


@pytest.mark.parametrize("model", ["statsmodels.api.OLS", "sklearn.linear_model.LinearRegression"])
def test_files_that_others_left_open_are_no_message(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"model": model.partition(".")[0]}
    settings["path" if settings["model"] == "statsmodels" else "estimator"] = model
    kind = ModelSettings.named(settings["model"])
    name = "fit_one" if settings["model"] == "statsmodels" else "fitted"
    original = getattr(kind, name)

    def leaves_one(*arguments: Any) -> Any:
        open(__file__)  # noqa: SIM115
        return original(*arguments)

    monkeypatch.setattr(kind, name, leaves_one)
    found = fit_frame(panel(2), ["g"], formula="y ~ x", **settings)
    assert [*found.said] == ["", ""]
