"""Each rolling or expanding window is the fit of its rows alone, and that of statsmodels' RollingOLS."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal
from statsmodels.regression.rolling import RollingOLS

from shortloop.panel.frame import fit_frame
from shortloop.panel.results import Results


def rows(seed: int = 0, most: int = 90, missing: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = 2 * most
    frame = pd.DataFrame({"g": rng.integers(0, 2, n), "x": rng.standard_normal(n).cumsum()})
    frame["z"], frame["w"], frame["o"] = (rng.uniform(1, 3, n) for _ in range(3))
    frame["k"], frame["c"] = rng.choice([*"aaaab"], n), rng.integers(0, 15, n)
    frame["t"] = rng.permutation(n)
    frame["y"] = frame["x"] + rng.standard_normal(n)
    frame["b"], frame["n"] = (rng.uniform(size=n) < 0.5) * 1.0, rng.poisson(2, n)
    if missing:
        frame.loc[rng.integers(0, n, 8), "z"] = np.nan
    return frame


ASKED: dict[str, dict[str, Any]] = {
    "plain": {"model": "ols", "formula": "y ~ x + z"},
    "raise": {"model": "ols", "formula": "y ~ x + z", "missing": "raise"},
    "transformed": {"model": "ols", "formula": "y ~ np.log(w) + I(x**2) + z", "covariance": "HC3"},
    "categories": {"model": "ols", "formula": "y ~ x + k"},
    "of other rows": {"model": "ols", "formula": "y ~ center(x) + lag(z)"},
    "weights, clusters": {
        "model": "wls",
        "formula": "y ~ x",
        "weights": "w",
        "covariance": "cluster",
        "clusters": ["c", "k"],
    },
    "hypotheses": {
        "model": "ols",
        "formula": "y ~ x",
        "covariance": "cluster",
        "clusters": "c",
        "tests": ["x = 1"],
    },
    "lags": {"model": "ols", "formula": "y ~ x", "covariance": "HAC"},
    "effects": {"model": "ols", "formula": "y ~ x + z | k"},
    "logit": {"model": "logit", "formula": "b ~ x", "margins": "overall"},
    "glm": {"model": "glm", "formula": "n ~ x", "family": "poisson", "offset": "o"},
    "rlm": {"model": "rlm", "formula": "y ~ x + z"},
    "quantreg": {"model": "quantreg", "formula": "y ~ x"},
    "statsmodels": {
        "model": "statsmodels",
        "formula": "n ~ x",
        "path": "statsmodels.api.Poisson",
        "fit": {"disp": 0},
    },
}
WINDOWS: tuple[dict[str, Any], ...] = (
    {"window": 40, "step": 9},
    {"window": 30, "min_rows": 12, "step": 7},
    {"window": "expanding", "min_rows": 25, "step": 10},
    {},  # groups
)


def check_alone(found: Results, frame: pd.DataFrame, asked: dict[str, Any]) -> None:
    """See that each window, or group, has the bits of a fit of its rows, given as a group."""
    for i, (key, *ends) in enumerate(found.keys):
        first, last = map(int, ends or (1, len(frame)))
        part = frame[frame["g"] == int(key)].iloc[first - 1 : last]
        alone = fit_frame(part, "g", **asked)
        place = [found.names.index(name) for name in alone.names]
        for name, values in found.arrays.items():
            mine = (
                values[i, place]
                if np.ndim(values) == 2 and values.shape[1] == len(found.names)
                else values[i]
            )
            np.testing.assert_array_equal(mine, alone.arrays[name][0], err_msg=f"{name}, window {i}")


@pytest.mark.parametrize("windows", WINDOWS, ids=["rolling", "short at first", "expanding", "groups"])
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.filterwarnings("ignore")
def test_a_window_is_the_fit_of_its_rows(name: str, windows: dict[str, Any]) -> None:
    frame, asked = rows(), ASKED[name]
    found = fit_frame(frame, "g", **asked, **windows)
    assert found.by == (("g", "first", "last") if windows else ("g",))
    check_alone(found, frame, asked)


@given(
    seed=st.integers(0, 2**32 - 1),
    window=st.one_of(st.integers(2, 70), st.just("expanding")),
    least=st.integers(2, 70),
    step=st.integers(1, 40),
)
@settings(max_examples=10, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_which_rows_a_window_has(seed: int, window: int | str, least: int, step: int) -> None:
    frame = rows(seed, most=50)
    least = least if window == "expanding" else min(least, int(window))
    sizes = {str(key): len(part) for key, part in frame.groupby("g")}
    expected = [
        (key, str(max(last - (size if window == "expanding" else int(window)), 0) + 1), str(last))
        for key, size in sizes.items()
        for last in range(least, size + 1, step)
    ]
    asked: dict[str, Any] = {"model": "ols", "formula": "y ~ x + z"}
    if not expected:
        with refusal("no group is long enough"):
            fit_frame(frame, "g", window=window, min_rows=least, step=step, **asked)
        return
    found = fit_frame(frame, "g", window=window, min_rows=least, step=step, **asked)
    assert list(found.keys) == expected
    check_alone(found, frame, asked)


def test_numbers_of_rolling_ols() -> None:
    frame = rows(1, missing=False)
    found = fit_frame(frame, "g", model="ols", formula="y ~ x + z", window=25, tests=["x = z"])
    assert (np.asarray(found.arrays["path"]) == 0).mean() > 0.9
    for key, part in frame.groupby("g"):
        theirs = RollingOLS(part["y"], sm.add_constant(part[["x", "z"]]), 25).fit()
        own = [i for i, each in enumerate(found.keys) if each[0] == str(key)]
        for name in ("params", "bse", "tvalues", "rsquared", "llf", "aic"):
            expected = np.asarray(getattr(theirs, name))[24:]
            np.testing.assert_allclose(found.arrays[name][own], expected, rtol=1e-6, atol=1e-9, err_msg=name)


OTHERS: dict[str, dict[str, Any]] = {
    "lasso": {"model": "lasso", "formula": "y ~ x + z", "alpha": 0.1, "folds": 0},
    "sklearn": {
        "model": "sklearn",
        "estimator": "sklearn.linear_model.LinearRegression",
        "formula": "y ~ x",
        "fold_by": "c",
    },
}


@pytest.mark.parametrize("name", ["plain", "lags", "logit", *OTHERS])
@pytest.mark.filterwarnings("ignore")
def test_time_orders_windows(name: str) -> None:
    frame, asked = rows(2), {**ASKED, **OTHERS}[name]
    frame.loc[7, "t"] = np.nan
    kept = frame.dropna(subset="t").sort_values("t")
    found = fit_frame(frame, "g", time="t", window=30, step=11, **asked)
    check_alone(found, kept, asked)


def test_windows_with_two_rows_at_one_time_fail() -> None:
    frame = rows(3, missing=False).sort_values("t")
    own = frame.index[frame["g"] == 0]
    frame.loc[own[50], "t"] = frame.loc[own[49], "t"]
    found = fit_frame(frame, "g", model="ols", formula="y ~ x", time="t", window=20)
    table = found.fits()
    both = (table["g"] == 0) & (table["first"] <= 50) & (table["last"] >= 51)
    assert both.sum() == 19
    assert (table["status"] == "failed").tolist() == both.tolist()
    assert table.loc[both, "said"].eq("two rows have the same time").all()


def test_groups_may_have_the_names_of_windows() -> None:
    frame = rows().rename(columns={"g": "last"})
    found = fit_frame(frame, "last", model="ols", formula="y ~ x", window=80)
    assert found.fits().columns.tolist()[:4] == ["group_last", "first", "last", "status"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"window": 1}, "greater than or equal to 2"),
        ({"window": "expanding"}, "min_rows: the rows of the first window"),
        ({"window": 10, "min_rows": 11}, "no more rows than"),
        ({"step": 2}, "only with `window`"),
        ({"time": "t"}, "only for windows and covariance 'HAC'"),
        ({"window": 1000}, "no group is long enough"),
    ],
)
def test_settings_that_cannot_be(asked: dict[str, Any], said: str) -> None:
    with refusal("", said):
        fit_frame(rows(), "g", model="ols", formula="y ~ x", **asked)
