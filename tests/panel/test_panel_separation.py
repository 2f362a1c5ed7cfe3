"""Fits whose likelihood has no maximum at finite coefficients are `separated`, of counts too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from cases import first_cases
from scipy.optimize import linprog

from shortloop.panel.frame import fit_frame
from shortloop.panel.results import Results
from shortloop.panel.statistics import STATUSES

DISCRETE = "statsmodels.discrete.discrete_model."
QUIET = {"model": "statsmodels", "fit": {"disp": 0}}
COUNTS: dict[str, dict[str, Any]] = {
    "glm": {"model": "glm", "family": "poisson"},
    "glm robust": {"model": "glm", "family": "poisson", "covariance": "HC0"},
    "poisson": {**QUIET, "path": f"{DISCRETE}Poisson"},
    "negative binomial": {**QUIET, "path": f"{DISCRETE}NegativeBinomial"},
    "negative binomial p": {**QUIET, "path": f"{DISCRETE}NegativeBinomialP"},
    "generalized": {**QUIET, "path": f"{DISCRETE}GeneralizedPoisson"},
    "zero-inflated": {**QUIET, "path": "statsmodels.discrete.count_model.ZeroInflatedPoisson"},
}
SAID = "regressors separate the outcomes"
pytestmark = pytest.mark.filterwarnings("ignore")


def counts(seed: int = 10, rows: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    number = 4 * rows
    frame = pd.DataFrame(
        {
            "g": np.repeat(list("abcd"), rows),
            "x": rng.standard_normal(number),
            "k": rng.choice(list("uvw"), number),
        }
    )
    return frame.assign(n=rng.poisson(np.exp(0.3 * frame["x"] + 0.5)))


def statuses(found: Results) -> list[str]:
    return [STATUSES[each] for each in np.asarray(found.arrays["status"])]


@pytest.mark.parametrize("model", COUNTS)
def test_a_cell_without_counts(model: str) -> None:
    frame = counts()
    frame.loc[(frame["g"] == "b") & (frame["k"] == "w"), "n"] = 0  # a cell of a category
    frame.loc[(frame["g"] == "c") & (frame["k"] == "w"), "n"] = 0
    frame.loc[frame.index[(frame["g"] == "c") & (frame["k"] == "w")][0], "n"] = 1  # all but empty
    frame["far"] = (frame["x"] > 1).astype(float)
    frame.loc[(frame["g"] == "d") & (frame["far"] == 1), "n"] = 0  # a cell of numbers
    found = fit_frame(frame, ["g"], formula="n ~ x + k + far", **COUNTS[model])
    became = statuses(found)
    assert [each == "separated" for each in became] == [False, True, False, True], found.said
    assert [SAID in said for said in found.said] == [False, True, False, True]
    if model in ("glm", "glm robust", "poisson"):
        assert became == ["fitted", "separated", "fitted", "separated"]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@first_cases(3, "seed", [0, 1, *range(4, 40), 2, 3])
def test_separation_of_counts_is_that_of_a_linear_program(seed: int, unit: float) -> None:
    """Whole numbers, so that there is no question of rounding."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, (16, 2)).astype(float)
    n = rng.poisson(0.6, 16) * (rng.uniform(size=16) < 0.7)
    n[:2] = 1, 2
    frame = pd.DataFrame({"g": "a", "x": unit * x[:, 0], "z": x[:, 1] / unit, "n": n})
    design = np.column_stack([np.ones(16), x])
    if np.linalg.matrix_rank(design) < 3:
        pytest.skip("singular")
    none = n == 0
    right = linprog(
        design[none].sum(axis=0),
        A_ub=design[none],
        b_ub=np.zeros(none.sum()),
        A_eq=design[~none],
        b_eq=np.zeros((~none).sum()),
        bounds=(-1, 1),
    )
    is_separated = bool(right.fun < -1e-6)
    for model in ("glm", "poisson", "negative binomial"):
        if model != "glm" and unit != 1.0:
            continue  # its optimizer stops anywhere
        found = fit_frame(frame, ["g"], formula="n ~ x + z", **COUNTS[model])
        assert (statuses(found) == ["separated"]) == is_separated, (model, found.said)


@pytest.mark.parametrize("low", [0.0, -0.5])
def test_a_cell_without_a_positive_mean_and_a_link_that_has_none_other(low: float) -> None:
    frame = counts()
    rng = np.random.default_rng(1)
    frame["y"] = np.exp(0.3 * frame["x"] + 0.5) + 0.1 * rng.standard_normal(len(frame))
    cell = (frame["g"] == "b") & (frame["k"] == "w")
    frame.loc[cell, "y"] = low + (0.1 * rng.standard_normal(cell.sum()) if low else 0.0)
    found = fit_frame(frame, ["g"], model="glm", family="gaussian", link="log", formula="y ~ x + k")
    assert statuses(found) == ["fitted", "separated", "fitted", "fitted"]


def test_means_at_a_bound_have_no_standard_errors() -> None:
    """The identity has means of 0 at finite coefficients: weights are endless there, and errors were 0."""
    frame = counts()
    frame.loc[(frame["g"] == "b") & (frame["k"] == "w"), "n"] = 0
    found = fit_frame(frame, ["g"], model="glm", family="poisson", link="identity", formula="n ~ x + k")
    assert statuses(found) == ["fitted", "not converged", "fitted", "fitted"]


@pytest.mark.parametrize("model", [{"model": "logit"}, {"model": "glm", "family": "binomial"}])
def test_only_where_they_separate_is_it_said(model: dict[str, Any]) -> None:
    """Probabilities next to 0 or 1, and an outcome that never varies, are no separation."""
    frame = counts()
    rng = np.random.default_rng(2)
    frame["x"] *= np.where(frame["g"] == "a", 12.0, 1.0)
    frame["b"] = (rng.uniform(size=len(frame)) < 1 / (1 + np.exp(-frame["x"]))).astype(int)
    frame.loc[frame["g"] == "b", "b"] = 1
    frame.loc[frame["g"] == "c", "b"] = (frame["x"] > 0).astype(int)
    found = fit_frame(frame, ["g"], formula="b ~ x", **model)
    assert statuses(found) == ["fitted", "constant outcome", "separated", "fitted"]
    assert [SAID in said for said in found.said] == [False, False, True, False]
    assert found.arrays["path"].tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize(
    "model",
    [{"model": "logit"}, {"model": "statsmodels", "path": "statsmodels.api.Logit", "fit": {"disp": 0}}],
)
@pytest.mark.filterwarnings("ignore")
def test_separation_that_ends_a_fit_is_told(model: dict[str, Any]) -> None:
    """Newton's method inverts a matrix of zeros: the fit was failed, with LinAlgError."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": rng.integers(0, 3, 300), "x": rng.standard_normal(300)})
    frame["year"] = rng.integers(-15, 15, 300)
    frame["b"] = (frame["year"] >= 0).astype(int)
    found = fit_frame(frame, ["g"], formula="b ~ x + year + I(year ** 2)", **model)
    assert statuses(found) == ["separated"] * 3
    assert any("LinAlgError" in said for said in found.said)


def test_coefficients_of_zero_inflated_models_are_those_of_their_regressors() -> None:
    """statsmodels has the ones of the zeros before them: each was taken for the next."""
    frame = counts()
    frame["n"] *= np.random.default_rng(3).uniform(size=len(frame)) < 0.6
    found = fit_frame(frame, ["g"], formula="n ~ x", **COUNTS["zero-inflated"])
    for g, part in enumerate(part for _, part in frame.groupby("g")):
        right = sm.ZeroInflatedPoisson(part["n"].to_numpy(), sm.add_constant(part["x"].to_numpy())).fit(
            disp=0
        )
        for name in ("params", "bse", "pvalues"):
            np.testing.assert_allclose(found.arrays[name][g], getattr(right, name)[1:], rtol=1e-9)
        np.testing.assert_allclose(found.arrays["upper"][g], right.conf_int()[1:, 1], rtol=1e-9)
