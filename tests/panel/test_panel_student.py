"""Two-sided p of Student's t: those of SciPy, from the middle to where no double is small enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from shortloop.panel.kernels.special import two_sided


@pytest.mark.parametrize("freedom", [1, 2, 3, 4.5, 10, 39, 40, 41, 100, 494, 2000, 19994, 1e6, 1e9])
def test_tails_are_those_of_scipy(freedom: float) -> None:
    t = np.concatenate([np.linspace(-40, 40, 3001), [0.0, 1e-300, 1e-12, 1e3, 1e8]])
    found = two_sided(t[np.newaxis], np.array([freedom]))[0]
    np.testing.assert_allclose(found, 2 * special.stdtr(freedom, -np.abs(t)), rtol=2e-12, atol=1e-300)


@pytest.mark.parametrize("freedom", [1.0, 2.0])
def test_tails_are_those_of_closed_forms(freedom: float) -> None:
    t = np.concatenate([np.linspace(0, 5, 501), np.geomspace(5, 1e6, 100)])
    exact = (
        2 * np.arctan2(1, t) / np.pi
        if freedom == 1
        else 1 / (np.hypot(t, np.sqrt(2)) * (np.hypot(t, np.sqrt(2)) + t) / 2)
    )
    np.testing.assert_allclose(two_sided(t[:, np.newaxis], np.full(len(t), freedom))[:, 0], exact, rtol=1e-14)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    t = np.linspace(0, 37, 500)
    found = two_sided(t[np.newaxis], np.array([1e18]))[0]
    np.testing.assert_allclose(found, 2 * stats.norm.sf(t), rtol=1e-11)


def test_what_is_no_number_stays_so_and_infinity_has_no_tail() -> None:
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
