"""Exponentials and logarithms of compiled loops: less than one unit in the last place off, on all doubles."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.special import exp_of, log_of

MANY = 200_000


@numba.njit(error_model="numpy")
def exps(values: FloatArray, found: FloatArray) -> None:
    for i in range(values.shape[0]):
        found[i] = exp_of(values[i])


@numba.njit(error_model="numpy")
def logs(values: FloatArray, found: FloatArray) -> None:
    for i in range(values.shape[0]):
        found[i] = log_of(values[i])


def assert_near(values: FloatArray, work: Callable[..., None], known: Callable[..., FloatArray]) -> None:
    """Compare with numbers of more digits."""
    found = np.empty_like(values)
    work(values, found)
    with np.errstate(all="ignore"):
        expected = known(values.astype(np.longdouble))
        rounded = expected.astype(float)
    special = ~np.isfinite(rounded) | (rounded == 0.0)
    np.testing.assert_array_equal(found[special], rounded[special])
    off = np.abs(found - expected)[~special] / np.spacing(np.abs(rounded[~special]))
    assert off.max(initial=0.0) < 1.0


@pytest.mark.parametrize(("lowest", "highest"), [(-1, 1), (-708, 709.7), (-745.2, -708), (-1e-9, 1e-9)])
def test_exponentials(lowest: float, highest: float) -> None:
    assert_near(np.random.default_rng(0).uniform(lowest, highest, MANY), exps, np.exp)


@pytest.mark.parametrize(("lowest", "highest"), [(-1, 1), (-307, 308.2), (-323.3, -307)])
def test_logarithms(lowest: float, highest: float) -> None:
    assert_near(10.0 ** np.random.default_rng(0).uniform(lowest, highest, MANY), logs, np.log)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_logarithms_of_numbers_next_to_1(sign: float) -> None:
    values = 1.0 + sign * 10.0 ** np.random.default_rng(0).uniform(-17, -0.5, MANY)
    assert_near(values, logs, np.log)


@given(st.floats())
@example(0.0)
@example(-0.0)
@example(np.inf)
@example(-np.inf)
@example(np.nan)
@example(709.782712893384)
@example(709.7827128933841)
@example(-745.1332191019411)
@example(-745.1332191019412)
@example(5e-324)
@example(-5e-324)
@example(2.0**-1022)
@example(np.sqrt(0.5))
@example(np.sqrt(2.0))
@example(1.7976931348623157e308)
def test_any_number(value: float) -> None:
    assert_near(np.array([value]), exps, np.exp)
    assert_near(np.array([value]), logs, np.log)
