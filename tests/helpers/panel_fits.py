"""Fits of many groups against those of statsmodels: what tests of several models ask of both."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.design import Design
from shortloop.panel.models.model import ModelSettings

COUNTS = ("nobs", "df_model", "df_resid")


def fit_groups(
    model: str,
    columns: Any,
    outcome: FloatArray,
    starts: IntArray,
    *,
    weights: FloatArray | None = None,
    counts: tuple[FloatArray, FloatArray] | None = None,
    clusters: IntArray | None = None,
    **settings: Any,
) -> SimpleNamespace:
    """Fit groups by the compiled code of a model; "ols" with weights is "wls"."""
    roles: dict[str, Any] = {}
    if weights is not None:
        model, roles["weights"], settings["weights"] = "wls", weights, "w"
    if settings.get("covariance") == "cluster":
        roles["clusters"], settings["clusters"] = clusters, "c"
    if counts is not None:
        roles["successes"], roles["failures"] = counts
    design = Design(tuple(map(str, range(len(columns)))), columns, outcome, roles)
    record = ModelSettings.model_validate({"model": model, "formula": "y ~ x", **settings})
    found = record.fit_groups(design, starts, 0.95)
    assert found is not None
    return SimpleNamespace(**found)


def assert_same_tests(found: SimpleNamespace, theirs: Any, g: int = 0, *, errors: float = 1e-9) -> None:
    """See that coefficients and what is said of each are those of statsmodels."""
    scale = np.maximum(np.abs(theirs.params), theirs.bse)
    assert np.all(np.abs(found.params[g] - theirs.params) <= 1e-9 * scale)
    np.testing.assert_allclose(found.bse[g], theirs.bse, rtol=errors)
    near = 1e-8 * scale.max()
    np.testing.assert_allclose(found.tvalues[g] * theirs.bse, theirs.params, atol=near)
    np.testing.assert_allclose(found.pvalues[g], theirs.pvalues, rtol=1e-6, atol=1e-9)
    low, high = np.asarray(theirs.conf_int()).T
    np.testing.assert_allclose(found.lower[g], low, atol=near)
    np.testing.assert_allclose(found.upper[g], high, atol=near)
    for name in COUNTS:
        assert getattr(found, name)[g] == getattr(theirs, name), name


def regressors_of_all_kinds(
    draw: st.DrawFn, rng: np.random.Generator, *, sizes: int, rows: int, nearest: int, units: float
) -> FloatArray:
    """Regressors: real or whole numbers, some nearly alike, with or without a constant, of all units."""
    size = draw(st.integers(1, sizes))
    x = rng.standard_normal((draw(st.integers(size + 1, rows)), size))
    if draw(st.booleans()):
        x = rng.integers(0, 3, x.shape).astype(float)
    if draw(st.booleans()) and size > 1:
        x[:, 1] = x[:, 0] + 10 ** draw(st.floats(nearest, 0)) * rng.standard_normal(len(x))
    if draw(st.integers(0, 3)):
        x[:, 0] = 1.0
    return x * 10.0 ** rng.uniform(-draw(st.floats(0, units)), draw(st.floats(0, units)), size)


def outcome_of_any_size(draw: st.DrawFn, y: Any, largest: int) -> Any:
    """An outcome in any unit, up to a power of ten, of real or whole numbers."""
    y = y * 10 ** draw(st.floats(-2, largest))
    return np.round(y) if draw(st.booleans()) else y


def without_answer() -> dict[str, tuple[FloatArray, FloatArray]]:
    """Regressors and outcomes of which no model of an outcome of real numbers has an answer."""
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(60), rng.standard_normal((60, 2))])
    y = x @ [1.0, 2.0, 3.0] + rng.standard_normal(60)
    beyond = x.copy()
    beyond[3, 1] = np.inf
    return {
        "ordinary": (x, y),
        "a column twice": (np.column_stack([x, x[:, 1]]), y),
        "a column of zeros": (np.column_stack([x, np.zeros(60)]), y),
        "few": (x[:3], y[:3]),
        "infinite": (beyond, y),
        "missing": (x, np.where(y == y[4], np.nan, y)),
        "no error": (x, x @ [1.0, 2.0, 3.0]),
    }
