"""Newey–West and two-way clustered covariances are those of statsmodels and linearmodels."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_real import real_table
from refusal import refusal

from shortloop.panel.frame import fit_frame
from shortloop.panel.results import Results

MODELS: dict[str, tuple[dict[str, Any], Callable[[pd.DataFrame, Any], Any]]] = {
    "ols": ({"formula": "y ~ x + z"}, lambda d, x: sm.OLS(d["y"], x)),
    "wls": ({"formula": "y ~ x + z", "weights": "w"}, lambda d, x: sm.WLS(d["y"], x, weights=d["w"])),
    "logit": ({"formula": "b ~ x + z"}, lambda d, x: sm.Logit(d["b"], x)),
    "glm": (
        {"formula": "n ~ x + z", "family": "poisson"},
        lambda d, x: sm.GLM(d["n"], x, family=sm.families.Poisson()),
    ),
}


def rows(seed: int, groups: int = 3, most: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = groups * most
    x = np.cumsum(rng.standard_normal(n)) * 0.2
    frame = pd.DataFrame({"g": rng.integers(0, groups, n), "x": x, "z": rng.uniform(1, 4, n)})
    frame["w"], frame["t"] = rng.uniform(0.5, 2, n), rng.permutation(n)
    frame["c"], frame["d"] = rng.integers(0, 12, n), rng.choice([*"abcdefghijk"], n)
    frame["y"] = frame["x"] + frame["z"] + np.convolve(rng.standard_normal(n + 2), [1, 1, 1], "valid")
    frame["b"] = (rng.uniform(size=n) < 0.5).astype(float)
    frame["n"] = rng.poisson(np.exp(0.2 * frame["z"]))
    frame.loc[rng.integers(0, n, 3), "x"] = np.nan
    return frame


def theirs(model: str, part: pd.DataFrame, asked: dict[str, Any]) -> Any:
    """A fit of statsmodels, of complete rows in the order of time."""
    part = part.sort_values(asked["time"]) if "time" in asked else part
    part = part.dropna(subset=["x"])
    known: dict[str, Any] = {"maxlags": asked.get("lags"), "kernel": asked.get("kernel", "bartlett")}
    if "clusters" in asked:
        known = {"groups": np.column_stack([pd.factorize(part[name])[0] for name in asked["clusters"]])}
    how = {"disp": 0} if model == "logit" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = MODELS[model][1](part, sm.add_constant(part[["x", "z"]]))
        return made.fit(cov_type=asked["covariance"], cov_kwds=known, **how)


def same(found: Results, g: int, expected: Any) -> None:
    for name in ("params", "bse", "tvalues", "pvalues"):
        np.testing.assert_allclose(found.arrays[name][g], getattr(expected, name), rtol=1e-8, atol=1e-12)
    for name in ("fvalue", "f_pvalue"):
        if hasattr(expected, name):
            assert found.arrays[name][g] == pytest.approx(getattr(expected, name), rel=1e-6, abs=1e-12)


HAC = st.fixed_dictionaries(
    {"covariance": st.just("HAC")},
    optional={
        "lags": st.integers(0, 90),
        "kernel": st.sampled_from(["bartlett", "uniform"]),
        "time": st.just("t"),
    },
)


@pytest.mark.parametrize("model", MODELS)
@given(seed=st.integers(0, 2**32 - 1), asked=st.one_of(HAC, st.just({"covariance": "cluster"})))
@settings(max_examples=15, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_statsmodels(model: str, seed: int, asked: dict[str, Any]) -> None:
    asked = {**asked, "clusters": ("c", "d")} if asked["covariance"] == "cluster" else asked
    frame = rows(seed)
    found = fit_frame(frame, ["g"], model=model, **MODELS[model][0], **asked)
    for g, (_, part) in enumerate(frame.groupby("g")):
        expected = theirs(model, part, asked)
        alike = np.diag(expected.normalized_cov_params) * expected.scale
        if (np.diag(expected.cov_params()) > 1e-9 * alike).all():
            assert found.arrays["status"][g] == 0
            same(found, g, expected)
        else:
            assert "a variance is 0 or below" in found.said[g]


def test_most_fits_are_compiled() -> None:
    frame = rows(0, groups=20)
    for model, (given_, _) in MODELS.items():
        for asked in ({"covariance": "HAC", "time": "t"}, {"covariance": "cluster", "clusters": ("c", "d")}):
            found = fit_frame(frame, ["g"], model=model, **given_, **asked)
            assert (np.asarray(found.arrays["path"]) == 0).sum() >= 14


@pytest.mark.parametrize("covariance", ["HAC", "cluster"])
def test_numbers_of_linearmodels_on_real_data(covariance: str) -> None:
    frame = real_table("statsmodels.datasets.grunfeld")
    model = pytest.importorskip("linearmodels.iv.model")._OLS
    theirs = model(frame["invest"], sm.add_constant(frame[["value", "capital"]]))
    asked: dict[str, Any] = {"lags": 3}
    how: dict[str, Any] = {"cov_type": "kernel", "kernel": "bartlett", "bandwidth": 3, "debiased": False}
    if covariance == "cluster":
        clusters = np.column_stack([pd.factorize(frame["firm"])[0], frame["year"].astype(int)])
        asked, how = {"clusters": ["firm", "year"]}, {"cov_type": "clustered", "clusters": clusters}
        how["debiased"] = True
    found = fit_frame(
        frame.assign(all=1),
        "all",
        model="ols",
        formula="invest ~ value + capital",
        covariance=covariance,
        **asked,
    )
    np.testing.assert_allclose(found.arrays["bse"][0], theirs.fit(**how).std_errors, rtol=1e-9)


TIMES: dict[str, Callable[[np.ndarray], Any]] = {
    "numbers": lambda t: t / 7,
    "whole numbers that no float holds": lambda t: 2**60 + t,
    "times": lambda t: pd.to_datetime(t * 86_400 * 10**9),
    "times of a place": lambda t: pd.to_datetime(t * 3600 * 10**9, utc=True).tz_convert("Europe/Berlin"),
    "times of Arrow": lambda t: pd.Series(pd.to_datetime(t * 10**9)).astype("timestamp[ns][pyarrow]"),
    "dates": lambda t: [datetime.date(2000, 1, 1) + datetime.timedelta(int(i)) for i in t],
    "durations": lambda t: pd.to_timedelta(t, unit="D"),
    "periods": lambda t: pd.period_range("1950", periods=len(t), freq="Q")[t],
    "texts of days": lambda t: np.datetime_as_string(np.datetime64("1999-12-01") + t),
    "texts of quarters": lambda t: [f"{1900 + i // 4}Q{i % 4 + 1}" for i in t],
    "categories in order": lambda t: pd.Categorical(
        t.astype(str), [str(i) for i in range(200)], ordered=True
    ),
}


@pytest.mark.parametrize("kind", TIMES)
def test_time_orders_the_rows(kind: str) -> None:
    frame = rows(1).assign(t=lambda d: TIMES[kind](d["t"].to_numpy()))
    asked: dict[str, Any] = {"model": "ols", "formula": "y ~ x + z", "covariance": "HAC", "lags": 4}
    ordered = fit_frame(rows(1).sort_values("t"), ["g"], **asked)
    found = fit_frame(frame, ["g"], time="t", **asked)
    for name, values in ordered.arrays.items():
        np.testing.assert_array_equal(found.arrays[name], values)
    assert (fit_frame(frame, ["g"], **asked).arrays["bse"] != ordered.arrays["bse"]).all()


@pytest.mark.parametrize(
    "times",
    [
        lambda d: d["t"].map(lambda t: f"{t % 28 + 1:02d}.12.{1900 + t}"),
        lambda d: d["t"].map(lambda t: f"1999-{t}"),
        lambda d: pd.Categorical(d["t"].astype(str)),
        lambda d: 2**63 + d["t"].astype("uint64") + 7,
    ],
)
def test_texts_of_unknown_order_are_refused(times: Callable[[pd.DataFrame], Any]) -> None:
    with refusal("the order of the values is not known", "1999-12-31", field="time"):
        fit_frame(
            rows(0).assign(t=times), "g", model="ols", formula="y ~ z", covariance="HAC", lags=1, time="t"
        )


@pytest.mark.parametrize("model", ["ols", "logit"])
def test_two_rows_at_one_time_have_no_order(model: str) -> None:
    frame = rows(2)
    frame.loc[np.flatnonzero(frame["g"] == 1)[[3, 20]], "t"] = 1000
    found = fit_frame(frame, ["g"], model=model, **MODELS[model][0], covariance="HAC", lags=1, time="t")
    assert found.fits()["status"].tolist() == ["fitted", "failed", "fitted"]
    assert "two rows have the same time" in found.said[1]
    same(found, 2, theirs(model, frame[frame["g"] == 2], {"covariance": "HAC", "lags": 1, "time": "t"}))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"lags": 3}, "lags, kernel: only for covariance 'HAC'"),
        ({"covariance": "cluster", "clusters": "c", "time": "t"}, "and covariance 'HAC'"),
        ({"covariance": "HAC", "clusters": "c"}, "for covariance 'cluster', and only there"),
        ({"covariance": "cluster", "clusters": ["c", "d", "w"]}, "one column, or two"),
        ({"covariance": "HAC", "lags": -1}, "greater than or equal to 0"),
        ({"covariance": "HAC", "time": "nosuch"}, "no such column"),
        ({"covariance": "cluster", "clusters": ["c", "nosuch"]}, "no such column"),
    ],
)
def test_settings_that_cannot_be(asked: dict[str, Any], said: str) -> None:
    with refusal("", said):
        fit_frame(rows(0), ["g"], model="ols", formula="y ~ x", **asked)
