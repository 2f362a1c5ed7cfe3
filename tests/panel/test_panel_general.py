"""Arguments of any model of statsmodels may be columns of the panel."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from refusal import refusal

from shortloop.base import terminal
from shortloop.panel.frame import fit_frame
from shortloop.panel.models.model import ModelSettings


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 450
    frame = pd.DataFrame({"g": rng.integers(0, 3, n), "x": rng.standard_normal(n)})
    frame["e"], frame["k"] = rng.uniform(1, 3, n), rng.choice([*"abcdefgh"], n)
    frame["n"] = rng.poisson(frame["e"] * np.exp(0.2 * frame["x"] + 0.2 * (frame["k"].map(ord) - 98)))
    frame["n"] = frame["n"].where(rng.uniform(size=n) < 0.7, 0)
    frame.loc[[3, 30], ["e"]] = np.nan
    frame.loc[[40], ["k"]] = None
    return frame


def column(*names: Any) -> dict[str, Any]:
    return {"column": names[0] if len(names) == 1 else list(names)}


Fit = Callable[[pd.DataFrame, pd.DataFrame], Any]
CASES: dict[str, tuple[dict[str, Any], list[str], Fit]] = {
    "exposure, HAC": (
        {
            "path": "statsmodels.api.Poisson",
            "arguments": {"exposure": column("e")},
            "fit": {"disp": 0, "cov_type": "HAC", "cov_kwds": {"maxlags": 4}},
        },
        ["e"],
        lambda d, x: sm.Poisson(d["n"], x, exposure=d["e"]).fit(
            disp=0, cov_type="HAC", cov_kwds={"maxlags": 4}
        ),
    ),
    "regressors of zeros": (
        {
            "path": "statsmodels.api.ZeroInflatedPoisson",
            "arguments": {"exog_infl": column(1, "e")},
            "fit": {"disp": 0},
        },
        ["e"],
        lambda d, x: sm.ZeroInflatedPoisson(d["n"], x, exog_infl=sm.add_constant(d["e"])).fit(disp=0),
    ),
    "groups of a mixed model": (
        {"path": "statsmodels.api.MixedLM", "arguments": {"groups": column("k")}},
        ["k"],
        lambda d, x: sm.MixedLM(d["n"], x, groups=d["k"]).fit(),
    ),
    "groups of GEE": (
        {"path": "statsmodels.api.GEE", "arguments": {"groups": column("k"), "offset": column("e")}},
        ["k", "e"],
        lambda d, x: sm.GEE(d["n"], x, groups=d["k"], offset=d["e"]).fit(),
    ),
    "clusters of two columns": (
        {
            "path": "statsmodels.api.Probit",
            "fit": {"disp": 0, "cov_type": "cluster", "cov_kwds": {"groups": column("k", "e")}},
        },
        ["k", "e"],
        lambda d, x: sm.Probit(d["n"], x).fit(
            disp=0,
            cov_type="cluster",
            cov_kwds={"groups": np.column_stack([pd.factorize(d[name])[0] for name in ("k", "e")])},
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_numbers_of_statsmodels(frame: pd.DataFrame, name: str) -> None:
    asked, columns, fit = CASES[name]
    if "Probit" in asked["path"]:
        frame = frame.assign(n=(frame["n"] > 0) * 1.0, e=frame["e"].round(1))
    found = fit_frame(frame, "g", model="statsmodels", formula="n ~ x", **asked)
    for g, (_, part) in enumerate(frame.dropna(subset=columns).groupby("g")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = fit(part, sm.add_constant(part[["x"]]))
        assert found.arrays["status"][g] == 0
        for of in ("params", "bse"):
            expected = getattr(theirs, of)[["const", "x"]]
            np.testing.assert_allclose(found.arrays[of][g], expected, rtol=1e-6, err_msg=of)


def test_arguments_that_a_model_does_not_know_fail(frame: pd.DataFrame) -> None:
    """statsmodels fits without them, with a warning."""
    asked: dict[str, Any] = {"path": "statsmodels.api.OLS", "arguments": {"exposure": column("e")}}
    found = fit_frame(frame, "g", model="statsmodels", formula="n ~ x", **asked)
    assert found.fits()["status"].tolist() == ["failed"] * 3
    assert "unknown kwargs" in found.said[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"exposure": column(3)}, "with nothing beside"),
        ({"exposure": {"column": []}}, "with nothing beside"),
        ({"exposure": {"column": "e", "log": True}}, "with nothing beside"),
        ({"exposure": column("e", 2)}, "1 for the constant"),
        ({"exposure": [1, 2]}, "{column = 'a column'}"),
        ({"exposure": float("inf")}, "a finite number"),
        ({"exposure": column("nosuch")}, "no such column"),
        ({"exposure": column("k")}, "the column is not numeric"),
    ],
)
def test_arguments_that_cannot_be(frame: pd.DataFrame, arguments: dict[str, Any], said: str) -> None:
    with refusal("", said):
        fit_frame(
            frame,
            "g",
            model="statsmodels",
            formula="n ~ x",
            path="statsmodels.api.Poisson",
            arguments=arguments,
        )


def test_settings_survive_as_plain_data() -> None:
    made = {"a": 1, "b": True, "c": column("x"), "d": column(1, "x"), "e": {"m": 4, "q": column("x")}}
    asked = {"model": "statsmodels", "formula": "n ~ x", "path": "a.B", "arguments": made, "fit": {"x": None}}
    model = ModelSettings.model_validate(asked)
    assert ModelSettings.model_validate(model.model_dump(mode="json")) == model
    assert model.model_dump(mode="json")["arguments"] == made


def test_slow_fits_of_a_frame_say_how_many_are_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "SHOW_AFTER", 0.0)
    monkeypatch.setattr(terminal, "LINE_EVERY", 0.0)
    frame = pd.DataFrame(
        {"g": np.repeat(np.arange(5), 8), "x": np.arange(40) % 7.0, "y": np.arange(40) ** 1.5}
    )
    fit_frame(frame, ["g"], model="statsmodels", formula="y ~ x", path="statsmodels.api.OLS")
    assert re.search(r"fit_frame: fitted one by one 4 of 5, \S+ s left", capsys.readouterr().err)
