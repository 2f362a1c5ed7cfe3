"""Numerics of compiled loops: singular values, exponentials, logarithms and Student's t, on all doubles."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from shortloop.base.types import FloatArray
from shortloop.panel.kernels.singular import extreme_eigenvalues, singular_values, singular_values_of
from shortloop.panel.kernels.special import exp_of, log_of, two_sided

SEEDS = st.integers(0, 2**32 - 1)


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(-140, 140), st.sampled_from(["spread", "near"])
)
@settings(max_examples=200, deadline=None)
def test_singular_values_in_any_unit(seed: int, size: int, power: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((size, size)))[0] for _ in range(2))
    known = 10.0 ** rng.uniform(-5, 0, size) if how == "spread" else 1.0 + 10.0 ** rng.uniform(-16, -1, size)
    lower = np.linalg.qr(((left * known) @ right).T)[1].T
    largest, smallest = singular_values(part_with(lower * 10.0**power), part_with(lower))
    np.testing.assert_allclose(largest, known.max() * 10.0**power, rtol=1e-13)
    np.testing.assert_allclose(smallest, known.min() * 10.0**power, rtol=1e-9)  # that of `lower` itself


def part_with(values: FloatArray) -> FloatArray:
    """A part of a larger array, as compiled code hands them on: other arrays would be compiled for anew."""
    larger = np.empty((len(values), len(values) + 1))
    larger[:, :-1] = values
    return larger[:, :-1]


@given(SEEDS, st.integers(1, 40), st.integers(-290, 290), st.sampled_from(["spread", "few", "near", "one"]))
@settings(max_examples=200, deadline=None)
def test_extreme_eigenvalues_of_any_matrix(seed: int, size: int, power: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    known = {
        "spread": 10.0 ** rng.uniform(-3, 0, size),
        "few": rng.choice([0.01, 0.3, 1.0], size),  # Laguerre's method is slower where some are equal
        "near": 1.0 + 10.0 ** rng.uniform(-16, -1, size),
        "one": np.ones(size),
    }[how]
    axes = np.linalg.qr(rng.standard_normal((size, size)))[0]
    made = (axes * known) @ axes.T * 10.0**power
    largest, smallest = extreme_eigenvalues(part_with((made + made.T) / 2), part_with(made))
    np.testing.assert_allclose(largest / 10.0**power, known.max(), rtol=1e-12)
    np.testing.assert_allclose(smallest / 10.0**power, known.min(), rtol=0, atol=1e-12 * known.max())


@given(SEEDS, st.integers(1, 8), st.floats(0, 6), st.booleans())
@settings(max_examples=200, deadline=None)
def test_singular_values_of_any_condition(seed: int, size: int, power: float, in_place: bool) -> None:
    rng = np.random.default_rng(seed)
    columns = np.linalg.qr(rng.standard_normal((30, size)))[0] * np.geomspace(1.0, 10.0**-power, size)
    columns = columns @ np.linalg.qr(rng.standard_normal((size, size)))[0]
    gram = part_with(columns.T @ columns)
    lower = part_with(np.linalg.cholesky(gram))
    largest, smallest = singular_values_of(gram, lower, gram if in_place else part_with(lower))
    known = np.linalg.svd(columns, compute_uv=False)
    np.testing.assert_allclose(largest, known[0], rtol=1e-13)
    np.testing.assert_allclose(smallest, known[-1], rtol=max(1e-12, 1e-15 * 100.0**power))


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


UNIFORM = np.random.default_rng(0).uniform(size=MANY)


@pytest.mark.parametrize(("lowest", "highest"), [(-1, 1), (-708, 709.7), (-745.2, -708), (-1e-9, 1e-9)])
def test_exponentials(lowest: float, highest: float) -> None:
    assert_near(lowest + (highest - lowest) * UNIFORM, exps, np.exp)


@pytest.mark.parametrize(
    "values",
    [10.0 ** (-1 + 2 * UNIFORM), 10.0 ** (-307 + 615.2 * UNIFORM), 10.0 ** (-323.3 + 16.3 * UNIFORM)]
    + [1.0 + sign * 10.0 ** (-17 + 16.5 * UNIFORM) for sign in (-1.0, 1.0)],
    ids=["near 1", "all", "subnormal", "next to 1, below", "next to 1, above"],
)
def test_logarithms(values: FloatArray) -> None:
    assert_near(values, logs, np.log)


@given(st.floats())
@example(0.0)
@example(-0.0)
@example(np.inf)
@example(-np.inf)
@example(np.nan)
def test_any_number(value: float) -> None:
    edges = [709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412, 5e-324, -5e-324]
    edges += [2.0**-1022, np.sqrt(0.5), np.sqrt(2.0), 1.7976931348623157e308]
    assert_near(np.array([value, *edges]), exps, np.exp)
    assert_near(np.array([value, *edges]), logs, np.log)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4.5, 10, 39, 40, 41, 100, 494, 2000, 19994, 1e6, 1e9])
def test_tails_are_those_of_scipy(freedom: float) -> None:
    t = np.concatenate([np.linspace(-40, 40, 3001), [0.0, 1e-300, 1e-12, 1e3, 1e8]])
    found = two_sided(t[np.newaxis], np.array([float(freedom)]))[0]
    np.testing.assert_allclose(found, 2 * special.stdtr(freedom, -np.abs(t)), rtol=2e-12, atol=1e-300)


def test_tails_at_their_ends() -> None:
    t = np.linspace(0, 37, 500)  # many degrees of freedom are the normal distribution
    np.testing.assert_allclose(
        two_sided(t[np.newaxis], np.array([1e18]))[0], 2 * stats.norm.sf(t), rtol=1e-11
    )
    found = two_sided(np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0]]), np.array([7.0]))
    np.testing.assert_array_equal(found, [[np.nan, 0.0, 0.0, 1.0, 1.0]])
    assert np.isnan(two_sided(np.array([[1.0]]), np.array([np.nan]))).all()
    assert two_sided(np.empty((0, 3)), np.empty(0)).shape == (0, 3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 70))
@settings(max_examples=50, deadline=None)
def test_p_is_the_same_bits_whatever_is_computed_beside_it(seed: int, size: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    t, freedom = rng.standard_t(2, (groups, size)) * 3, rng.integers(1, 600, groups).astype(float)
    together = two_sided(t, freedom)
    for g in range(groups):
        for j in range(size):
            assert two_sided(t[g : g + 1, j : j + 1], freedom[g : g + 1])[0, 0] == together[g, j]
