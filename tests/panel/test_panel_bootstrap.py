"""The wild cluster bootstrap in every group: all draws of few clusters, and a sample of many."""

from __future__ import annotations

from itertools import product
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

ASKED: dict[str, Any] = {"formula": "y ~ x + z", "covariance": "cluster", "clusters": "c"}


def rows(seed: int, clusters: int, unit: float = 1.0, most: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"g": rng.integers(0, 2, most), "c": rng.integers(0, clusters, most)})
    shared = rng.standard_normal((2, clusters))
    frame["x"] = unit * (rng.standard_normal(most) + shared[0][frame["c"]])
    frame["z"], frame["w"] = rng.uniform(1, 3, most), rng.uniform(0.5, 2, most)
    frame["y"] = 0.3 * frame["x"] / unit + shared[1][frame["c"]] + rng.standard_normal(most)
    frame.loc[rng.integers(0, most, 3), "z"] = np.nan
    return frame


def refitted(part: pd.DataFrame, weights: np.ndarray, term: int) -> float:
    """The share of draws, each fitted by statsmodels, whose statistic is larger."""
    x, y = sm.add_constant(part[["x", "z"]]).to_numpy(), part["y"].to_numpy()
    how = {"cov_type": "cluster", "cov_kwds": {"groups": part["c"].to_numpy()}}
    statistic = abs(sm.WLS(y, x, weights=weights).fit(**how).tvalues[term])
    null = sm.WLS(y, np.delete(x, term, axis=1), weights=weights).fit()
    codes, larger = pd.factorize(part["c"])[0], []
    for signs in product([1.0, -1.0], repeat=codes.max() + 1):
        drawn = null.fittedvalues + null.resid * np.array(signs)[codes]
        larger.append(
            abs(sm.WLS(drawn, x, weights=weights).fit(**how).tvalues[term]) > statistic * (1 + 1e-8)
        )
    return float(np.mean(larger))


@pytest.mark.parametrize("model", ["ols", "wls"])
@given(seed=st.integers(0, 2**32 - 1), clusters=st.integers(5, 6), unit=st.sampled_from([1e-5, 1.0, 1e5]))
@settings(max_examples=4, deadline=None)
def test_all_draws_of_few_clusters(model: str, seed: int, clusters: int, unit: float) -> None:
    frame = rows(seed, clusters, unit)
    more: dict[str, Any] = {"weights": "w"} if model == "wls" else {}
    found = fit_frame(frame, "g", model=model, bootstrap=999, **ASKED, **more)
    for g, (_, part) in enumerate(frame.dropna().groupby("g")):
        weights = part["w"].to_numpy() if model == "wls" else np.ones(len(part))
        if found.arrays["status"][g] == 0:
            for term in range(3):
                expected = refitted(part, weights, term)
                assert found.arrays["pvalues_bootstrap"][g, term] == pytest.approx(expected, abs=1e-12)


def test_numbers_of_wildboottest_on_real_data() -> None:
    """All 2¹¹ draws of firms; of the constant, wildboottest also counts the two that are the data."""
    frame = real_table("statsmodels.datasets.grunfeld").assign(all=1)
    asked: dict[str, Any] = {
        "formula": "invest ~ value + capital",
        "covariance": "cluster",
        "clusters": "firm",
    }
    found = fit_frame(frame, "all", model="ols", bootstrap=9999, **asked)
    expected = [0.03222656 - 2 / 2**11, 3.90625000e-03, 0.02148438]
    np.testing.assert_allclose(found.coefficients()["pvalues_bootstrap"], expected, atol=1e-8)


def test_draws_are_a_sample_of_all() -> None:
    frame = rows(0, 12, most=400)
    every, some, others, again = (
        fit_frame(frame, "g", model="ols", bootstrap=draws, bootstrap_seed=seed, **ASKED)
        for draws, seed in ((2**11, 0), (2000, 0), (2000, 1), (2000, 0))
    )
    p = np.asarray(every.arrays["pvalues_bootstrap"])
    near = 5 * np.sqrt(p * (1 - p) / 2000)
    assert (np.abs(some.arrays["pvalues_bootstrap"] - p) <= near).all()
    assert (some.arrays["pvalues_bootstrap"] != others.arrays["pvalues_bootstrap"]).any()
    np.testing.assert_array_equal(some.arrays["pvalues_bootstrap"], again.arrays["pvalues_bootstrap"])
    for g, (_, part) in enumerate(frame.groupby("g")):
        alone = fit_frame(part, "g", model="ols", bootstrap=2000, **ASKED)
        np.testing.assert_array_equal(
            some.arrays["pvalues_bootstrap"][g], alone.arrays["pvalues_bootstrap"][0]
        )


def test_fits_that_failed_have_none() -> None:
    frame = rows(1, 8)
    frame.loc[frame["g"] == 1, "z"] = 2 * frame["x"]
    found = fit_frame(frame, "g", model="ols", bootstrap=99, **ASKED)
    assert found.fits()["status"].tolist() == ["fitted", "singular"]
    assert np.isnan(found.arrays["pvalues_bootstrap"][1]).all()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"bootstrap": 99}, "only with covariance 'cluster'"),
        ({"bootstrap": 99, "covariance": "cluster", "clusters": ["c", "w"]}, "of one column"),
        ({"bootstrap": -1, "covariance": "cluster", "clusters": "c"}, "greater than or equal to 0"),
        (
            {"bootstrap": 99, "covariance": "cluster", "clusters": "c", "formula": "y ~ x | w"},
            "without HC2, HC3 and bootstrap",
        ),
    ],
)
def test_settings_that_cannot_be(asked: dict[str, Any], said: str) -> None:
    with refusal("", said):
        fit_frame(rows(0, 5), "g", **{"model": "ols", "formula": "y ~ x", **asked})
