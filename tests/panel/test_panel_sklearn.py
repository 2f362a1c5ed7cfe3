"""Estimators in every group: scores, coefficients and models as scikit-learn alone has them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from formulaic import model_matrix
from panel_real import real_table
from panel_shops import built, shops
from refusal import refusal
from sklearn.base import BaseEstimator, RegressorMixin, is_classifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from shortloop.panel.frame import fit_frame
from shortloop.panel.report.content import collect
from shortloop.panel.report.panel_page import drawings, page_of
from shortloop.panel.results import Results
from shortloop.stages.results import open_result

FORMULA = "lwage ~ hours + C(married) + exper"
HERE = __name__


class Fussy(RegressorMixin, BaseEstimator):
    """Refuses outcomes below a limit."""

    def __init__(self, limit: float = 0.0) -> None:
        self.limit = limit

    def fit(self, x: pd.DataFrame, y: np.ndarray) -> Fussy:
        if (y < self.limit).any():
            raise ValueError("an outcome below the limit")
        self.columns_ = [*x.columns]
        return self

    def predict(self, x: pd.DataFrame) -> np.ndarray:
        return np.zeros(len(x))


def scaled_svr(c: float = 1.0) -> Any:
    return make_pipeline(StandardScaler(), SVR(C=c))


@pytest.fixture(scope="module")
def wages() -> pd.DataFrame:
    frame = real_table("linearmodels.datasets.wage_panel").sample(frac=1.0, random_state=2)
    frame.loc[frame.index[::50], "hours"] = np.nan
    return frame[frame["year"] < 1984].reset_index(drop=True)


def fitted(frame: pd.DataFrame, name: str, formula: str = FORMULA, by: str = "year", **more: Any) -> Results:
    return fit_frame(frame, [by], model="sklearn", estimator=name, formula=formula, **more)


@pytest.mark.parametrize(
    ("name", "arguments", "formula", "scoring", "how"),
    [
        ("sklearn.linear_model.Ridge", {"alpha": 2.0}, FORMULA, ["r2", "neg_mean_absolute_error"], {}),
        ("sklearn.ensemble.RandomForestRegressor", {"n_estimators": 3}, FORMULA, [], {"split": "shuffled"}),
        ("sklearn.linear_model.LogisticRegression", {}, "union ~ exper + hours", ["roc_auc"], {}),
        (
            "sklearn.tree.DecisionTreeClassifier",
            {"max_depth": 2},
            "union ~ exper + hours",
            [],
            {"split": "shuffled"},
        ),
        ("sklearn.neighbors.KNeighborsRegressor", {}, FORMULA, ["r2"], {"split": "time", "folds": 3}),
        ("sklearn.linear_model.RidgeCV", {"alphas": [0.1, 10.0]}, FORMULA, [], {"fold_by": "occupation"}),
        (f"{HERE}.scaled_svr", {"c": 0.5}, FORMULA, ["r2"], {}),
    ],
)
def test_scores_and_coefficients_are_those_of_scikit_learn(
    wages: pd.DataFrame, name: str, arguments: dict[str, Any], formula: str, scoring: list[str], how: Any
) -> None:
    more = dict(arguments=arguments, scoring=scoring, keep=True, seed=4, **how)
    found = fitted(wages, name, formula, **more)
    assert {*found.fits()["status"]} == {"fitted"}
    assert {*found.fits()["path"]} == {"scikit-learn"}
    scores: Any = found.scores().set_index(["year", "scoring"])
    coefficients: Any = found.coefficients().set_index(["year", "term"])["params"]
    module, _, kind = name.rpartition(".")
    drawn = set()
    for year, part in wages.dropna(subset=["hours"]).groupby("year"):
        design = model_matrix(formula, part)
        x, y = design.rhs.drop(columns="Intercept"), np.asarray(design.lhs, float)[:, 0]
        kept = found.models[year]
        state = kept.get_params().get("random_state")
        drawn.add(state)
        judge = getattr(importlib.import_module(module), kind)(**arguments)
        judge = judge.set_params(**({"random_state": state} if state is not None else {}))
        folds: Any = (StratifiedKFold if is_classifier(judge) else KFold)(5)
        if how.get("split") == "shuffled":
            folds = type(folds)(5, shuffle=True, random_state=state)
        elif how.get("split") == "time":
            folds = TimeSeriesSplit(3)
        elif "fold_by" in how:
            folds = GroupKFold(5)
        clusters = part["occupation"] if "fold_by" in how else None
        theirs = cross_validate(judge, x, y, cv=folds, groups=clusters, scoring=scoring or None)
        for score in scoring or ["score"]:
            mine = scores.loc[(year, score)]
            np.testing.assert_allclose(mine["mean"], theirs[f"test_{score}"].mean(), rtol=1e-9)
            np.testing.assert_allclose(mine["std"], theirs[f"test_{score}"].std(), rtol=1e-9)
            assert mine["rows"] == len(part)
        judge.fit(x, y)
        np.testing.assert_array_equal(kept.predict(x), judge.predict(x))
        values = getattr(judge, "coef_", getattr(judge, "feature_importances_", None))
        if values is None:
            assert coefficients.loc[year].isna().all()
            continue
        np.testing.assert_allclose(coefficients.loc[year][x.columns], np.ravel(values), rtol=1e-9)
        assert ("Intercept" in coefficients.loc[year]) == hasattr(judge, "intercept_")
        if hasattr(judge, "intercept_"):
            np.testing.assert_allclose(coefficients[year, "Intercept"], np.ravel(judge.intercept_)[0])
    assert drawn == {None} or len(drawn) == 4  # each group has its own


def test_neither_other_groups_nor_their_order_change_a_bit(wages: pd.DataFrame) -> None:
    name = "sklearn.ensemble.ExtraTreesRegressor"
    more: Any = {"arguments": {"n_estimators": 3}, "split": "shuffled"}
    together, alone = (fitted(some, name, **more) for some in (wages, wages[wages["year"] == 1982]))
    for each in ("params", "score", "score_std"):
        np.testing.assert_array_equal(together.arrays[each][2], alone.arrays[each][0])
    again, other = fitted(wages, name, **more), fitted(wages, name, seed=1, **more)
    np.testing.assert_array_equal(together.arrays["score"], again.arrays["score"])
    assert (together.arrays["score"] != other.arrays["score"]).all()


def test_a_constant_is_a_regressor_only_if_it_is_asked_for(wages: pd.DataFrame) -> None:
    more: Any = {"keep": True, "arguments": {"limit": -99}}
    plain, asked = (fitted(wages, f"{HERE}.Fussy", constant=each, **more) for each in (False, True))
    assert plain.models[1980].columns_ == ["hours", "C(married)[T.1]", "exper"]
    assert asked.models[1980].columns_ == ["Intercept", "hours", "C(married)[T.1]", "exper"]
    own = fitted(
        wages, "sklearn.linear_model.LinearRegression", constant=True, arguments={"fit_intercept": False}
    )
    theirs = fit_frame(wages, ["year"], model="ols", formula=FORMULA)
    np.testing.assert_allclose(own.arrays["params"], theirs.arrays["params"], rtol=1e-8)
    without = fitted(wages, "sklearn.linear_model.LinearRegression", "lwage ~ 0 + hours + exper")
    assert without.names == ("hours", "exper")
    design = wages[wages["year"] == 1980].dropna(subset=["hours"])
    judge = LinearRegression().fit(design[["hours", "exper"]], design["lwage"])
    assert f"the intercept {judge.intercept_:.6g} is no coefficient" in without.said[0]


def test_each_group_has_a_status_of_its_own() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": np.repeat([*"abcdef"], 12), "x": rng.standard_normal(72)})
    frame["y"] = rng.uniform(1, 2, 72)
    frame.loc[frame["g"] == "b", "y"] = 1.5
    frame.loc[frame.index[frame["g"] == "c"][0], "x"] = np.inf
    frame.loc[frame.index[frame["g"] == "d"][0], "y"] = -1.0
    frame = frame.drop(frame.index[frame["g"] == "e"][4:])
    table = fitted(frame, f"{HERE}.Fussy", "y ~ x", "g", keep=True).fits().set_index("g")
    expected = "fitted", "constant outcome", "values not finite", "failed", "too few rows", "fitted"
    assert [*table["status"]] == [*expected]
    assert table.loc["d", "said"] == "ValueError: an outcome below the limit"
    # One fold alone fails: no mean is made of the others, and no path of this machine is in the message.
    found = fitted(
        frame, "sklearn.linear_model.LogisticRegression", "I(y > 1.9) ~ x", "g", scoring=["roc_auc"]
    )
    said = " ".join(found.said)
    assert "/" not in said.replace("https://", "") or str(Path.home()) not in said
    frame["k"] = rng.integers(0, 3, len(frame))
    several = fitted(frame, "sklearn.linear_model.LogisticRegression", "k ~ x", "g", folds=2)
    assert np.isnan(several.arrays["params"]).all()
    assert "fitted" in {*several.fits()["status"]}
    slow = fitted(
        frame, "sklearn.linear_model.Lasso", "y ~ x", "g", arguments={"alpha": 0, "max_iter": 1, "tol": 0}
    )
    assert "not converged" in {*slow.fits()["status"]}


@pytest.mark.parametrize(
    ("settings", "problem", "parts"),
    [
        ({"estimator": "sklearn.linear_model.Rigde"}, "no such estimator", ("Rigde", "e.g. sklearn")),
        ({"estimator": "nowhere.Ridge"}, "no such estimator", ("No module named 'nowhere'",)),
        ({"estimator": "sklearn.preprocessing.StandardScaler"}, "not an estimator", ("methods predict",)),
        ({"arguments": {"alpha": -1}}, "cannot be created", ("'alpha' parameter of Ridge", "arguments")),
        ({"arguments": {"alhpa": 1}}, "cannot be created", ("unexpected keyword argument 'alhpa'",)),
        ({"scoring": ["r3"]}, "no such score", ("e.g. r2",)),
        ({"folds": 1}, "invalid value", ("folds: at least 2",)),
        ({"folds": 0, "scoring": ["r2"]}, "invalid value", ("need folds",)),
        ({"fold_by": "k", "split": "time"}, "invalid value", ("leave out one of them",)),
        ({"fold_by": "nobody"}, "no such column", ("nobody",)),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], problem: str, parts: tuple[str, ...]) -> None:
    with refusal(problem, *parts):
        fitted(shops(), **{"name": "sklearn.linear_model.Ridge", "formula": "y ~ x", "by": "shop", **{
            {"estimator": "name"}.get(name, name): value for name, value in settings.items()}})  # fmt: skip


def test_a_run_has_tables_of_scores_models_pages_and_a_report(tmp_path: Path) -> None:
    more = 'formula = "paid ~ x + C(k)", estimator = "sklearn.ensemble.RandomForestClassifier", keep = true, '
    more += 'arguments = {n_estimators = 5}, scoring = ["accuracy", "roc_auc"], folds = 3'
    run, _ = built(tmp_path, "worst = 2", "sklearn", more)
    of = {job.stage: open_result(job.path) for job in run.jobs}
    settings: Any = {"arguments": {"n_estimators": 5}, "scoring": ["accuracy", "roc_auc"], "folds": 3}
    settings |= {"estimator": "sklearn.ensemble.RandomForestClassifier", "formula": "paid ~ x + C(k)"}
    alone = fit_frame(shops(), ["town", "shop"], model="sklearn", **settings)
    tables: Any = of["panel_results"].tables
    pd.testing.assert_frame_equal(tables["scores"], alone.scores())
    mine = tables["coefficients"].drop(columns="pvalues_corrected")
    pd.testing.assert_frame_equal(mine, alone.coefficients())
    models = of["panel_models"]["models"]
    fine = alone.fits()[alone.fits()["status"] == "fitted"]
    assert {*map(tuple, models)} == {*zip(fine["town"], fine["shop"], strict=True)}
    part = shops().query("town == 'Łódź' and shop == 1").dropna()
    x = model_matrix("x + C(k)", part).drop(columns="Intercept")
    assert (models["Łódź", 1].predict(x) == part["paid"]).mean() > 0.8
    assert [*models["Łódź", 1].feature_names_in_] == [*x.columns]
    asked: Any = {"name": "shops", "models": ["plain"], "predict": {"models": []}}
    content = collect([of["panel_results"]], [of["panel_diagnostics"]], asked, of["import_panel"])
    (figure,) = drawings(content)  # a forest has no p
    assert figure.name == "plain-coefficients"
    assert "interval" not in figure.caption
    (section,) = page_of(content).sections
    assert section.tables[0].title == "Cross-validated scores"
    assert [row.name for row in section.tables[0].rows] == ["accuracy", "roc_auc"]
    assert " groups fitted by scikit-learn." in section.findings[0]
    assert [each.path.rpartition("/")[2] for each in section.links][-2:] == [
        "scores.parquet",
        "predictions.parquet",
    ]


@pytest.mark.parametrize(
    ("groups", "more", "expected"),
    [
        (pd.date_range("2020", periods=2), {}, ["2020-01-01 00:00:00", "2020-01-02 00:00:00"]),
        ([7.0, 0.5], {}, [0.5, 7.0]),
        ([7, 8], {"window": 19}, [(7, 1, 19), (7, 2, 20), (8, 1, 19), (8, 2, 20)]),
    ],
)
def test_kept_models_have_the_values_of_their_groups(
    groups: Any, more: dict[str, Any], expected: Any
) -> None:
    frame = pd.DataFrame({"x": np.arange(40.0) % 7, "y": np.arange(40.0) % 5, "g": np.repeat(groups, 20)})
    asked: Any = {
        "estimator": "sklearn.linear_model.LinearRegression",
        "formula": "y ~ x",
        "folds": 2,
        "keep": True,
    }
    assert list(fit_frame(frame, ["g"], model="sklearn", **asked, **more).models) == expected


def test_a_run_keeps_no_models_of_windows(tmp_path: Path) -> None:
    more = 'formula = "y ~ x", estimator = "sklearn.linear_model.LinearRegression", keep = true, window = 20'
    with refusal("wrong value", field="models.plain.keep"):
        built(tmp_path, "worst = 0", "sklearn", more)
