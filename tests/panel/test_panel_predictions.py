"""Predictions of rows, of the fit and new ones: statsmodels' numbers, with the state of the fitted rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from formulaic import model_matrix
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_judge import random_rows
from panel_real import real_table
from panel_shops import OLS, built, shops
from refusal import refusal

from shortloop.panel.frame import fit_frame
from shortloop.panel.statistics import Status
from shortloop.stages.results import open_result

FORMULAS = (
    *("lwage ~ bs(exper, df=4) + hours", "lwage ~ poly(hours, 2)", "lwage ~ center(hours) * married"),
    *("lwage ~ scale(hours) + C(kind)", "np.exp(lwage) ~ I(center(exper) ** 2) + np.log(hours)"),
    *(
        "lwage ~ C(kind):hours + cr(exper, df=3) - 1",
        "lwage ~ exper + hours:married",
        "lwage ~ C(married) + kind",
    ),
)


@pytest.fixture(scope="module")
def wages() -> pd.DataFrame:
    frame = real_table("linearmodels.datasets.wage_panel")
    frame = frame[frame["year"].isin([1982, 1986])].reset_index(drop=True)
    frame["kind"] = np.array(["a", "b", "c"])[frame["occupation"] % 3]
    frame["size"] = frame["hours"] / 1000 + 0.5
    frame["hours"] = frame["hours"].astype(float)
    frame.loc[frame.sample(frac=0.05, random_state=1).index, "hours"] = np.nan
    return frame


def judged(
    frame: pd.DataFrame, new: pd.DataFrame | None, formula: str, fit: Any, level: float, **more: Any
) -> Iterator[tuple[pd.Index, pd.DataFrame]]:
    """What statsmodels predicts of each year, where formulaic alone makes its columns."""
    for year, part in frame.groupby("year"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            design = model_matrix(formula, part, na_action="drop")
            if not len(design.rhs):  # as of poly, where a value is missing
                design = model_matrix(formula, part.dropna())
            y, x = np.asarray(design.lhs, float)[:, 0], np.asarray(design.rhs, float)
            results = fit(y, x, part.loc[design.rhs.index])
            rows = part if new is None else new[new["year"] == year]
            if rows["hours"].notna().sum() == 0:
                continue
            exog = design.rhs.model_spec.get_model_matrix(rows, na_action="drop")
            if not len(exog):
                exog = design.rhs.model_spec.get_model_matrix(rows.dropna(subset=["hours"]))
            known = {name: rows.loc[exog.index, column] for name, column in more.items()}
            found = results.get_prediction(np.asarray(exog, float), **known).summary_frame(alpha=1 - level)
            found = found.set_axis(exog.index)
        names = {"predicted": "mean", "se": "mean_se"}
        names |= {f"ci_{end}": f"mean_ci_{end}" for end in ("lower", "upper")}
        yield exog.index, found.rename(columns=names)


def assert_as_judged(mine: pd.DataFrame, judge: Iterator[tuple[pd.Index, pd.DataFrame]]) -> None:
    there = []
    for index, theirs in judge:
        there += [*index]
        np.testing.assert_allclose(mine.loc[index, "fitted"], theirs["mean"], rtol=1e-7, atol=1e-9)
        for name in {*theirs} & {*mine}:
            np.testing.assert_allclose(
                mine.loc[index, name], theirs[name], rtol=1e-6, atol=1e-9, err_msg=name
            )
        assert {*mine} - {*theirs} == {"year", "fitted", "residual", "said"}
        assert {*mine.loc[index, "said"]} == {""}
    others = mine.drop(index=there)
    assert others["fitted"].isna().all()
    assert {*others["said"]} <= {"missing value"}


@pytest.mark.parametrize("formula", FORMULAS)
def test_the_state_is_that_of_the_fitted_rows(wages: pd.DataFrame, formula: str) -> None:
    rng = np.random.default_rng(3)
    new = wages.sample(60, random_state=5).sort_values(["exper"])
    new["hours"] += rng.uniform(0, 300, 60)  # other means and scales
    found = fit_frame(wages, ["year"], model="ols", formula=formula, covariance="HC1")
    for rows in (None, new, new.iloc[:1], new.drop(columns="lwage")):
        mine = found.predict(rows, 0.9)
        expected = wages if rows is None else rows
        pd.testing.assert_index_equal(mine.index, expected.index)
        assert_as_judged(
            mine, judged(wages, rows, formula, lambda y, x, part: sm.OLS(y, x).fit("pinv", "HC1"), 0.9)
        )
        if "lwage" in expected:
            y = np.exp(expected["lwage"]) if formula.startswith("np.exp") else expected["lwage"]
            np.testing.assert_allclose(mine["residual"], (y - mine["fitted"]).astype(float), atol=1e-12)
        else:
            assert mine["residual"].isna().all()


JUDGES: dict[str, Any] = {
    "ols": lambda y, x, part: sm.OLS(y, x).fit(cov_type="cluster", cov_kwds={"groups": part["occupation"]}),
    "wls": lambda y, x, part: sm.WLS(y, x, part["size"]).fit(),
    "logit": lambda y, x, part: sm.Logit(y, x).fit(disp=0, cov_type="HC0"),
    "poisson": lambda y, x, part: sm.GLM(y, x, sm.families.Poisson()).fit(),
    "probit": lambda y, x, part: sm.GLM(y, x, sm.families.Binomial(sm.families.links.Probit())).fit(),
}


@pytest.mark.parametrize(
    ("judge", "settings", "more"),
    [
        ("wls", {"model": "wls", "weights": "size"}, {"weights": "size"}),
        ("ols", {"model": "ols", "covariance": "cluster", "clusters": "occupation"}, {}),
        ("logit", {"model": "logit", "covariance": "HC0"}, {}),
        ("poisson", {"model": "glm", "family": "poisson"}, {}),
        ("probit", {"model": "glm", "family": "binomial", "link": "probit"}, {}),
    ],
)
def test_intervals_are_those_of_statsmodels(
    wages: pd.DataFrame, judge: str, settings: Any, more: Any
) -> None:
    outcome = "lwage" if settings["model"] in ("ols", "wls") else "union"
    formula = f"{outcome} ~ exper + C(kind) + hours"
    found = fit_frame(wages, ["year"], formula=formula, **settings)
    new = wages.sample(50, random_state=2)
    for rows in (None, new):
        assert_as_judged(found.predict(rows, 0.8), judged(wages, rows, formula, JUDGES[judge], 0.8, **more))
    if more:
        lacks = found.predict(new.drop(columns="size"), 0.8)
        assert lacks[["obs_ci_lower", "obs_ci_upper"]].isna().all(axis=None)  # of what weight is not known
        np.testing.assert_array_equal(lacks["mean_se"], found.predict(new, 0.8)["mean_se"])


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "rlm"},
        {"model": "quantreg", "quantile": 0.3},
        {"model": "ridge", "alpha": 3.0},
        {
            "model": "sklearn",
            "estimator": "sklearn.ensemble.RandomForestRegressor",
            "arguments": {"n_estimators": 3},
        },
        {
            "model": "statsmodels",
            "path": "statsmodels.regression.linear_model.GLSAR",
            "arguments": {"rho": 1},
        },
    ],
)
def test_models_without_intervals_have_fitted_values(wages: pd.DataFrame, settings: dict[str, Any]) -> None:
    found = fit_frame(wages, ["year"], formula="lwage ~ exper + C(kind)", **settings)
    mine, new = found.predict(), found.predict(wages.iloc[::-7])
    np.testing.assert_allclose(new["fitted"], mine["fitted"].iloc[::-7], rtol=1e-12)
    np.testing.assert_allclose(mine["residual"], wages["lwage"] - mine["fitted"])
    if settings["model"] in ("rlm", "quantreg", "ridge", "statsmodels"):
        for group, (_, part) in enumerate(wages.groupby("year")):
            x = np.asarray(model_matrix("exper + C(kind)", part), float)
            expected = x @ found.arrays["params"][group]
            np.testing.assert_allclose(mine.loc[part.index, "fitted"], expected, rtol=1e-9)
    with refusal("no intervals for this model", "leave out interval"):
        found.predict(interval=0.95)


def test_each_row_that_has_no_prediction_says_why() -> None:
    frame = shops()
    found = fit_frame(frame, ["town", "shop"], model="ols", formula="y ~ x + C(k)")
    new = frame.iloc[[0, 31, 62, 93, 130, 160, 190]].reset_index(drop=True)
    new.loc[1, "k"] = "new"
    new.loc[2, "x"] = np.nan
    new.loc[3, "shop"] = 9
    new.loc[5, "k"] = "b"  # its group has rows of a alone
    new.loc[6, "town"] = None
    said = found.predict(new)["said"]
    assert said[0] == ""
    assert said[1] == "new of C(k) is not among the rows of the fit"
    assert said[2] == "missing value"
    assert said[3].startswith("no such group in the fit: ")
    assert said[4] == "the group is not fitted: singular"
    assert said[5] == "b of C(k) is not among the rows of the fit"
    assert said[6] == "the row belongs to no group"
    assert found.predict(new)["fitted"].notna().tolist() == [True] + [False] * 6
    bounded = fit_frame(frame, ["town"], model="ols", formula="y ~ bs(x, df=4)")
    new = frame.iloc[:5].assign(x=[0.0, 99.0, 0.1, -99.0, 0.2])
    mine = bounded.predict(new)
    assert ["bounds" in each for each in mine["said"]] == [False, True, False, True, False]
    np.testing.assert_allclose(mine["fitted"].iloc[[0, 2, 4]], bounded.predict(new.iloc[[0, 2, 4]])["fitted"])


@pytest.mark.parametrize(
    ("formula", "new", "problem", "parts"),
    [
        ("y ~ I(x - x.mean())", {}, "may look at several rows", ("x.mean()", "use center")),
        ("y ~ lag(x)", {}, "may look at several rows", ("lag(x)",)),
        ("y ~ x", {"x": "text"}, "has another type", ("numbers, as in the fit",)),
        ("y ~ C(k)", {"k": 1.0}, "has another type", ("categories, as in the fit",)),
        ("y ~ x + C(k)", {"k": None}, "", ()),
    ],
)
def test_new_rows_that_cannot_be_are_refused(
    formula: str, new: Any, problem: str, parts: tuple[str, ...]
) -> None:
    frame = shops()
    found = fit_frame(frame, ["town"], model="ols", formula=formula)
    rows = found.predict()  # of the fit it knows all rows
    np.testing.assert_allclose(rows["residual"], frame["y"] - rows["fitted"], atol=1e-12)
    assert rows["residual"].notna().sum() == found.arrays["nobs"].sum()
    assert rows["fitted"].notna().sum() == (
        frame["x"].shift(1).notna().sum() - 2 if "lag" in formula else len(frame)
    )
    if not problem:
        assert {*found.predict(frame.assign(**new))["said"]} == {"missing value"}
        return
    with refusal(problem, *parts):
        found.predict(frame.assign(**new))
    with refusal("new rows lack a column"):
        fit_frame(frame, ["town"], model="ols", formula="y ~ x").predict(frame.drop(columns="x"))


def test_a_constant_alone_predicts_the_mean_and_counts_have_shares() -> None:
    mean = fit_frame(shops(), ["town"], model="ols", formula="y ~ 1").predict(shops()[::-5])
    means = shops().groupby("town")["y"].mean()
    np.testing.assert_allclose(mean["fitted"], means[shops()[::-5]["town"]])
    frame = shops().assign(won=3.0, lost=lambda each: (each["x"] > 0) + 1.0)
    found = fit_frame(frame, ["town"], model="glm", family="binomial", formula="won + lost ~ x")
    mine = found.predict(interval=0.9)
    np.testing.assert_allclose(
        mine["residual"], frame["won"] / (frame["won"] + frame["lost"]) - mine["fitted"]
    )
    np.testing.assert_allclose(found.predict(frame, 0.9).drop(columns="said").iloc[:, 1:].astype(float),
                               mine.drop(columns="said").iloc[:, 1:].astype(float))  # fmt: skip


def test_a_run_has_a_row_for_each_row_of_the_file(tmp_path: Path) -> None:
    frame = shops().sample(frac=1.0, random_state=4).reset_index(drop=True)
    frame.loc[7, "town"] = None
    new = frame.iloc[::-11].assign(x=lambda each: each["x"] + 1).drop(columns="y")
    new.loc[new.index[1], "shop"] = 99
    new.to_csv(tmp_path / "new.csv", index=False)
    for asked, rows in (("", None), (', input = "../new.csv"', new)):
        more = f"{OLS}}}\ncsv = true\npredict = {{interval = 0.9{asked}"
        run, _ = built(tmp_path / str(bool(asked)), "worst = 1", more=more, frame=frame)
        (job,) = [open_result(job.path) for job in run.jobs if job.stage == "panel_predictions"]
        alone = fit_frame(frame, ["town", "shop"], model="ols", formula="y ~ x + C(k)").predict(rows, 0.9)
        table: Any = job.tables["predictions"]
        assert table["row"].tolist() == [*range(1, len(table) + 1)]
        pd.testing.assert_frame_equal(
            table.drop(columns="row"), alone.reset_index(drop=True), check_dtype=False, rtol=1e-12
        )
        text = pd.read_csv(job.files["predictions.csv"])
        np.testing.assert_allclose(text["mean_se"], table["mean_se"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ('models = ["other"]', "no model is called other"),
        ("interval = 0.9", "models.robust has no intervals; name in predict.models the others"),
        ("interval = 1.0", "less than 1"),
    ],
)
def test_predictions_that_cannot_be_are_refused(tmp_path: Path, asked: str, said: str) -> None:
    more = f'{OLS}}}\nmodels.robust = {{model = "rlm", formula = "y ~ x"}}\npredict = {{{asked}'
    with refusal("", said):
        built(tmp_path, "worst = 0", more=more)


@pytest.fixture(scope="module")
def counted(wages: pd.DataFrame) -> pd.DataFrame:
    rng, frame = np.random.default_rng(0), wages.sample(frac=1.0, random_state=1)
    frame["time"] = rng.permutation(len(frame))
    frame["shift"], frame["share"] = rng.normal(size=len(frame)), rng.random(len(frame)) + 0.5
    frame["times"] = rng.integers(0, 4, len(frame))
    frame["count"] = rng.poisson(frame["share"] * np.exp(frame["shift"] + 0.1 * frame["exper"]))
    return frame


@pytest.mark.parametrize("are_new", [False, True])
def test_of_errors_correlated_over_time(counted: pd.DataFrame, are_new: bool) -> None:
    settings: Any = {"formula": "lwage ~ exper", "covariance": "HAC", "time": "time", "lags": 5}
    rows = counted.head(50) if are_new else counted
    found = fit_frame(counted, ["year"], model="ols", **settings).predict(rows if are_new else None, 0.9)
    for year, part in counted.sort_values("time").groupby("year"):
        fit = sm.OLS(part["lwage"], sm.add_constant(part[["exper"]]))
        results = fit.fit(cov_type="HAC", cov_kwds={"maxlags": 5})
        some = rows[rows["year"] == year]
        exog = sm.add_constant(some[["exper"]], has_constant="add")
        expected = results.get_prediction(exog).summary_frame(alpha=0.1)
        for name in ("mean_se", "mean_ci_lower", "obs_ci_upper"):
            np.testing.assert_allclose(found.loc[some.index, name], expected[name], rtol=1e-9)


@pytest.mark.parametrize("are_new", [False, True])
def test_of_columns_beside_the_formula(counted: pd.DataFrame, are_new: bool) -> None:
    beside: Any = {"exposure": "share", "offset": "shift", "freq_weights": "times"}
    rows = counted.head(50) if are_new else counted
    fits = fit_frame(counted, ["year"], model="glm", family="poisson", formula="count ~ exper", **beside)
    found = {level: fits.predict(rows if are_new else None, level) for level in (None, 0.9)}
    for year, part in counted[counted["times"] > 0].groupby("year"):
        columns = {name: part[column] for name, column in beside.items()}
        x, family = sm.add_constant(part[["exper"]]), sm.families.Poisson()
        results = sm.GLM(part["count"], x, family=family, **columns).fit()
        some = rows[rows["year"] == year]
        more = {"exposure": some["share"], "offset": some["shift"]}
        exog = sm.add_constant(some[["exper"]], has_constant="add")
        expected = results.get_prediction(exog, **more).summary_frame(alpha=0.1)
        for each in found.values():
            np.testing.assert_allclose(each.loc[some.index, "fitted"], expected["mean"], rtol=1e-8)
        for name in ("mean_se", "mean_ci_lower", "mean_ci_upper"):
            np.testing.assert_allclose(found[0.9].loc[some.index, name], expected[name], rtol=1e-8)
    with refusal("new rows lack a column", found="shift"):
        fits.predict(rows.drop(columns="shift"))


RANDOM = (
    *(
        "y ~ x + C(k)",
        "y ~ x:z + k",
        "y ~ bs(x, df=4) + z",
        "y ~ poly(x, 2) + C(q)",
        "y ~ scale(x) * center(z)",
    ),
    *("y ~ lag(x) + C(k)", "np.log(p) ~ x + C(q > 1)", "y ~ I(x - x.mean()) + k", "y ~ z", "y ~ 0 + C(k):x"),
)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(RANDOM), st.booleans())
def test_residuals_of_any_rows_are_those_of_the_fit(seed: int, formula: str, robust: bool) -> None:
    """As many as the fit had rows, and with its variance; the same where the rows come as new ones."""
    frame = random_rows(np.random.default_rng(seed), 12)
    more: Any = {"model": "rlm"} if robust else {"model": "ols", "covariance": "HC1"}
    found = fit_frame(frame, ["g"], formula=formula, **more)
    mine = found.predict()
    for group, key in enumerate(found.keys):
        part = mine[frame["g"] == key[0]]
        if found.arrays["status"][group] != Status.FITTED:
            assert part["fitted"].isna().all()
            assert (part["said"] != "").all()
            continue
        residuals = part["residual"].dropna()
        assert len(residuals) == found.arrays["nobs"][group]
        assert ((part["said"] == "") == part["fitted"].notna()).all()
        if not robust:
            scale = np.square(residuals).sum() / found.arrays["df_resid"][group]
            size = np.square(part["fitted"]).mean()
            assert scale == pytest.approx(found.arrays["scale"][group], rel=1e-6, abs=1e-10 * size)
    if "lag" not in formula and "mean" not in formula:
        new = found.predict(frame)
        pd.testing.assert_series_equal(new["said"], mine["said"])
        np.testing.assert_allclose(new["fitted"], mine["fitted"], rtol=1e-7, atol=1e-9)
