"""Robust regressions of many groups: the path of statsmodels, fit by fit, or a reason why not."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from cases import first_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from panel_fits import assert_same_tests, fit_groups, outcome_of_any_size, regressors_of_all_kinds

from shortloop.base.types import FloatArray
from shortloop.panel.frame import fit_frame
from shortloop.panel.statistics import Reason, Status

BOUND = 1.345


def mine(x: FloatArray, y: FloatArray, bound: float = BOUND) -> SimpleNamespace:
    return fit_groups("rlm", np.ascontiguousarray(x.T), y, np.array([0, len(y)]), t=bound)


def by_statsmodels(x: FloatArray, y: FloatArray, bound: float = BOUND) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sm.RLM(y, x, M=sm.robust.norms.HuberT(bound)).fit()


def same(found: SimpleNamespace, theirs: Any, g: int = 0) -> None:
    assert_same_tests(found, theirs, g)
    np.testing.assert_allclose(found.scale[g], theirs.scale, rtol=1e-9)
    iterations, deviance = theirs.fit_history["iteration"], theirs.fit_history["deviance"]
    assert found.iterations[g] == iterations
    assert found.converged[g] == (abs(deviance[-1] - deviance[-2]) <= 1e-8)


@st.composite
def problems(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, float]:
    """Regressors of all kinds; errors with long tails, of all sizes, or whole numbers."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = regressors_of_all_kinds(draw, rng, sizes=6, rows=120, nearest=-5, units=2.0)
    x[:, -1] += draw(st.sampled_from([0.0, 0.0, 100.0]))
    error = rng.standard_t(draw(st.sampled_from([1, 2, 5, 50])), len(x))
    if draw(st.booleans()):
        error[rng.uniform(size=len(x)) < 0.2] *= 10 ** draw(st.floats(0, 4))
    y = x @ rng.standard_normal(x.shape[1]) + 10 ** draw(st.floats(-2, 2)) * error
    y = outcome_of_any_size(draw, y, largest=3)
    return x, y, draw(st.sampled_from([BOUND, BOUND, 0.5, 1.0, 3.0]))


@first_cases(1, "examples", [100, 400])
def test_it_is_what_statsmodels_says(examples: int) -> None:
    @given(problems())
    @settings(max_examples=examples, deadline=None)
    def check(problem: tuple[FloatArray, FloatArray, float]) -> None:
        x, y, bound = problem
        found = mine(x, y, bound)
        if found.reasons[0] == Reason.VOUCHED:
            same(found, by_statsmodels(x, y, bound))
        else:
            for name in ("params", "bse", "scale"):
                assert np.isnan(getattr(found, name)).all()

    check()


@pytest.mark.parametrize("bound", [BOUND, 0.7, 2.5])
def test_what_is_not_special_is_vouched_for(bound: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = np.column_stack([np.ones(150), rng.standard_normal((150, 3))])
        y = x @ rng.standard_normal(4) + rng.standard_t(3, 150)
        found = mine(x, y, bound)
        assert found.reasons[0] == Reason.VOUCHED
        same(found, by_statsmodels(x, y, bound))


def test_stackloss() -> None:
    data = sm.datasets.stackloss.load_pandas()
    x, y = sm.add_constant(data.exog).to_numpy(float), data.endog.to_numpy(float)
    found = mine(x, y)
    assert found.reasons[0] == Reason.VOUCHED
    same(found, by_statsmodels(x, y))
    # As R's MASS::rlm has it, in the library's own tests (statsmodels/robust/tests/results/results_rlm.py).
    np.testing.assert_allclose(found.params[0], [-41.0265, 0.8294, 0.9261, -0.1278], atol=5e-4)
    np.testing.assert_allclose(found.bse[0], [9.7919, 0.1110, 0.3029, 0.1286], atol=5e-4)
    np.testing.assert_allclose(found.scale, 2.4407, atol=5e-4)


def test_what_does_not_converge_is_told_whichever_code_fits_it() -> None:
    """statsmodels is silent after fifty iterations."""
    rng = np.random.default_rng(0)
    rows, groups = 9, 400
    frame = pd.DataFrame({"g": np.repeat(np.arange(groups), rows), "x": rng.standard_normal(rows * groups)})
    frame["y"] = frame["x"] + rng.standard_t(3, rows * groups)
    found = fit_frame(frame, ["g"], model="rlm", formula="y ~ x")
    stopped = np.flatnonzero(found.arrays["converged"] == 0)
    assert (found.arrays["iterations"][stopped] == 50).all()
    assert (found.arrays["path"][stopped] == 0).any()  # compiled code has fitted some
    assert (found.arrays["status"][stopped] == Status.NOT_CONVERGED).all()
    for g in stopped:
        part = frame[frame["g"] == g]
        theirs = by_statsmodels(sm.add_constant(part["x"]).to_numpy(float), part["y"].to_numpy(float))
        np.testing.assert_allclose(found.arrays["params"][g], theirs.params, rtol=1e-8)
        # A column of so large numbers is not fitted by compiled code.
        other = fit_frame(part.assign(z=1e9), ["g"], model="rlm", formula="y ~ x + z - 1")
        assert (other.arrays["path"][0], other.arrays["status"][0]) == (1, Status.NOT_CONVERGED)
