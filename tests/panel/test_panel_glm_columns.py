"""Offset, exposure and weights of generalized linear models are those of statsmodels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_real import real_table
from refusal import refusal

from shortloop.panel.data import from_frame
from shortloop.panel.diagnostics.residuals import rows_of
from shortloop.panel.fitting.fit import Fitter
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.frame import fit_frame
from shortloop.panel.models.glm import COLUMNS, Glm
from shortloop.panel.results import Results

LINKS = {"log": "Log", "logit": "Logit", "identity": "Identity", "inverse_power": "InversePower"}
KINDS = (
    ("n", "poisson", "log"),
    ("n", "poisson", "identity"),
    ("b", "binomial", "logit"),
    ("p", "gamma", "log"),
    ("p", "gamma", "inverse_power"),
    ("y", "gaussian", "identity"),
    ("y", "gaussian", "log"),
    ("s + f", "binomial", "logit"),
)


def rows(seed: int, spread: float = 1.0, groups: int = 3, most: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = groups * most
    frame = pd.DataFrame({"g": rng.integers(0, groups, n), "x": rng.standard_normal(n)})
    frame["o"], frame["e"] = spread * rng.uniform(0, 0.5, n), np.exp(spread * rng.standard_normal(n))
    frame["q"], frame["v"] = rng.integers(1, 4, n), rng.uniform(0.5, 3, n)
    mean = np.exp(1 + 0.3 * frame["x"] + frame["o"])
    frame["n"], frame["p"] = rng.poisson(mean), rng.gamma(3, mean / 3)
    frame["y"], frame["b"] = mean + rng.standard_normal(n), (rng.uniform(size=n) < 0.6) * 1.0
    frame["s"] = rng.binomial(5, 0.4, n)
    frame["f"] = 5 - frame["s"]
    frame.loc[rng.integers(0, n, 2), ["o", "e", "q", "v"]] = np.nan
    return frame


def theirs(part: pd.DataFrame, outcome: str, family: str, link: str, asked: dict[str, Any]) -> Any:
    part = part.dropna(subset=[asked[name] for name in COLUMNS if name in asked])
    made = getattr(sm.families, family.title())(getattr(sm.families.links, LINKS[link])())
    columns = {name: part[asked[name]].to_numpy() for name in COLUMNS if name in asked}
    y, x = part[outcome.split(" + ")].to_numpy().squeeze(), sm.add_constant(part["x"]).to_numpy()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return sm.GLM(y, x, family=made, **columns).fit(cov_type=asked.get("covariance", "nonrobust"))


def same(found: Results, g: int, expected: Any) -> None:
    scale = np.maximum(np.abs(expected.params), expected.bse)
    assert (np.abs(found.arrays["params"][g] - expected.params) <= 1e-8 * scale).all()
    np.testing.assert_allclose(found.arrays["bse"][g], expected.bse, rtol=1e-8)
    for name in ("llf", "deviance", "scale", "df_resid", "aic"):
        assert found.arrays[name][g] == pytest.approx(getattr(expected, name), rel=1e-8), name
    assert found.arrays["iterations"][g] == expected.fit_history["iteration"]


ASKED = st.fixed_dictionaries(
    {"covariance": st.sampled_from(["nonrobust", "HC0"])},
    optional={"offset": st.just("o"), "exposure": st.just("e"), "freq_weights": st.just("q")},
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}, {kind[2]}")
@given(seed=st.integers(0, 2**32 - 1), spread=st.floats(0, 4), asked=ASKED, varies=st.booleans())
@settings(max_examples=12, deadline=None)
def test_numbers_of_statsmodels(
    kind: tuple[str, str, str], seed: int, spread: float, asked: dict[str, Any], varies: bool
) -> None:
    outcome, family, link = kind
    asked = {name: value for name, value in asked.items() if name != "exposure" or link == "log"}
    asked |= {"var_weights": "v"} if varies else {}
    frame = rows(seed, spread)
    found = fit_frame(frame, "g", model="glm", formula=f"{outcome} ~ x", family=family, link=link, **asked)
    for g, (_, part) in enumerate(frame.groupby("g")):
        if found.arrays["status"][g] == 0:
            same(found, g, theirs(part, outcome, family, link, asked))
        else:
            assert link in ("log", "identity", "inverse_power")


def test_offsets_are_compiled() -> None:
    frame = rows(1, groups=20)
    for outcome, family, link in (kind for kind in KINDS if kind[2] != "inverse_power"):
        asked: dict[str, Any] = {"offset": "o", "exposure": "e"} if link == "log" else {"offset": "o"}
        found = fit_frame(
            frame, "g", model="glm", formula=f"{outcome} ~ x", family=family, link=link, **asked
        )
        fitted = np.asarray(found.arrays["status"]) == 0
        assert ((np.asarray(found.arrays["path"]) == 0) & fitted).sum() >= 0.9 * max(fitted.sum(), 10)


@pytest.mark.parametrize(("far", "is_compiled"), [(1e3, True), (1e6, False), (1e9, False)])
def test_far_offsets_leave_the_digits(far: float, is_compiled: bool) -> None:
    frame = rows(2).dropna().assign(o=lambda d: d["o"] + far)
    found = fit_frame(frame, "g", model="glm", formula="n ~ x", family="poisson", offset="o")
    near = fit_frame(
        frame.assign(o=frame["o"] - far), "g", model="glm", formula="n ~ x", family="poisson", offset="o"
    )
    assert ((np.asarray(found.arrays["path"]) == 0) == is_compiled).all()
    if is_compiled:
        for name in ("params", "bse"):
            mine, others = (np.asarray(each.arrays[name])[:, 1] for each in (found, near))
            np.testing.assert_allclose(mine, others, atol=1e-9)


@pytest.mark.parametrize("covariance", ["nonrobust", "HC0"])
@pytest.mark.parametrize("kind", [KINDS[0], KINDS[2], KINDS[3], KINDS[5]])
def test_a_row_counts_as_often_as_its_frequency(kind: tuple[str, str, str], covariance: str) -> None:
    outcome, family, link = kind
    frame = rows(3).dropna().assign(q=lambda d: d["q"] - 1)  # some are 0
    asked: dict[str, Any] = {"model": "glm", "family": family, "link": link, "covariance": covariance}
    found = fit_frame(frame, "g", formula=f"{outcome} ~ x", freq_weights="q", **asked)
    often = frame.loc[frame.index.repeat(frame["q"].astype(int))]
    expected = fit_frame(often, "g", formula=f"{outcome} ~ x", **asked)
    for name in ("params", "bse", "llf", "scale", "df_resid"):
        np.testing.assert_allclose(found.arrays[name], expected.arrays[name], rtol=1e-7)


@pytest.mark.parametrize(
    ("asked", "wrong", "said"),
    [
        ({"exposure": "e"}, 0.0, "exposure: a value is 0 or below"),
        ({"exposure": "e"}, np.inf, "exposure: a value is not finite"),
        ({"offset": "e"}, -np.inf, "offset: a value is not finite"),
        ({"freq_weights": "e"}, -1.0, "freq_weights: a value is 0 or below"),
        ({"var_weights": "e"}, 0.0, "var_weights: a value is 0 or below"),
    ],
)
def test_values_that_cannot_be_fail_their_group(asked: dict[str, Any], wrong: float, said: str) -> None:
    frame = rows(4).dropna()
    frame.loc[frame.index[frame["g"] == 1][3], "e"] = wrong
    found = fit_frame(frame, "g", model="glm", formula="n ~ x", family="poisson", **asked)
    assert found.fits()["status"].tolist() == ["fitted", "failed", "fitted"]
    assert said in found.said[1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"family": "gamma", "exposure": "e"}, "only for the link log"),
        ({"family": "poisson", "freq_weights": "q", "covariance": "cluster", "clusters": "g"}, "not with"),
        ({"family": "poisson", "offset": "nosuch"}, "no such column"),
    ],
)
def test_settings_that_cannot_be(asked: dict[str, Any], said: str) -> None:
    with refusal("", said):
        fit_frame(rows(0), "g", model="glm", formula="n ~ x", **asked)


def test_rates_of_real_data() -> None:
    frame = real_table("statsmodels.datasets.cpunish").assign(all=1)
    formula = "EXECUTIONS ~ INCOME + PERPOVERTY"
    found = fit_frame(frame, "all", model="glm", formula=formula, family="poisson", exposure="PERBLACK")
    x = sm.add_constant(frame[["INCOME", "PERPOVERTY"]])
    made = sm.GLM(frame["EXECUTIONS"], x, family=sm.families.Poisson(), exposure=frame["PERBLACK"])
    np.testing.assert_allclose(found.arrays["params"][0], made.fit().params, rtol=1e-8)


@pytest.mark.parametrize("asked", [{"offset": "o", "exposure": "e"}, {"var_weights": "v"}])
@pytest.mark.parametrize("kind", [KINDS[0], KINDS[3]])
def test_residuals_of_rows(kind: tuple[str, str, str], asked: dict[str, str]) -> None:
    outcome, family, link = kind
    frame = rows(5).dropna()
    model = Glm(model="glm", family=family, link=link, formula=f"{outcome} ~ x", **asked)
    fitter = Fitter(model, Equation(model.formula), from_frame(frame, ["g"]))
    design, fits = fitter.design_of(1), fitter.fit()
    params, scale = fits.arrays["params"][1], float(fits.arrays["scale"][1])
    found = rows_of(model, design, params, scale, np.random.SeedSequence(0))
    expected = theirs(frame[frame["g"] == 1], outcome, family, link, asked)
    assert found is not None
    np.testing.assert_allclose(found.fitted, expected.fittedvalues, rtol=1e-8)
    np.testing.assert_allclose(found.residuals, expected.resid_pearson, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.leverage, expected.get_hat_matrix_diag(observed=False), rtol=1e-6)
    assert np.isfinite(found.normal).all()
