"""Smoothing equals a written-out convolution, and touches nothing but the axes asked for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from shortloop.eeg.group.statistics import smooth_maps


def written_out(curve: np.ndarray, sigma: float, truncate: float) -> np.ndarray:
    radius = math.floor(truncate * sigma + 0.5)
    weights = [math.exp(-0.5 * (k / sigma) ** 2) for k in range(-radius, radius + 1)]
    out = []
    for centre in range(len(curve)):
        bins = [min(max(centre + k, 0), len(curve) - 1) for k in range(-radius, radius + 1)]
        out.append(sum(w * curve[b] for w, b in zip(weights, bins)) / sum(weights))
    return np.array(out)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    sigma=st.floats(0.05, 4),
    truncate=st.floats(0.5, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_planes_and_curves_equal_an_explicit_loop(
    shape: tuple[int, int, int], sigma: float, truncate: float, seed: int
) -> None:
    maps = np.random.default_rng(seed).normal(33, 10, shape)
    along_train = np.array([[written_out(row, sigma, truncate) for row in plane] for plane in maps])
    curves = smooth_maps(maps, sigma=sigma, truncate=truncate, axes=(-1,))
    np.testing.assert_allclose(curves, along_train, rtol=1e-12)
    both = [[written_out(row, sigma, truncate) for row in plane.T] for plane in along_train]
    planes = smooth_maps(maps, sigma=sigma, truncate=truncate)
    np.testing.assert_allclose(planes, np.transpose(both, (0, 2, 1)), rtol=1e-12)


def test_stack_equals_scipy_on_each_map() -> None:
    maps = np.random.default_rng(1).normal(size=(2, 3, 8, 11))
    smoothed = smooth_maps(maps, sigma=1.0, truncate=2.0)
    for i, j in np.ndindex(2, 3):
        alone = ndimage.gaussian_filter(maps[i, j], 1.0, mode="nearest", truncate=2.0)
        np.testing.assert_allclose(smoothed[i, j], alone, rtol=1e-14, atol=1e-15)


def test_two_sigmas_of_one_bin_reach_two_bins() -> None:
    impulse = np.zeros((9, 9))
    impulse[4, 4] = 1
    reached = smooth_maps(impulse, sigma=1.0, truncate=2.0) > 0
    assert reached[2:7, 2:7].all()
    assert reached.sum() == 25


def test_constant_maps_keep_their_value_up_to_the_edges() -> None:
    smoothed = smooth_maps(np.full((2, 5, 7), 100 / 3), sigma=1.5, truncate=3.0)
    np.testing.assert_allclose(smoothed, 100 / 3, rtol=1e-15)


def test_sigma_zero_copies() -> None:
    maps = np.random.default_rng(2).normal(size=(2, 4, 4))
    same = smooth_maps(maps, sigma=0.0, truncate=2.0)
    np.testing.assert_array_equal(same, maps)
    assert not np.shares_memory(same, maps)


def test_whole_numbers_are_not_rounded() -> None:
    counts = np.array([[0, 100, 0, 0]])
    np.testing.assert_allclose(
        smooth_maps(counts, sigma=1.0, truncate=1.0, axes=(-1,)),
        smooth_maps(counts.astype(float), sigma=1.0, truncate=1.0, axes=(-1,)),
    )


@pytest.mark.parametrize(("sigma", "truncate"), [(-1.0, 2.0), (1.0, 0.0)])
def test_impossible_kernels_are_refused(sigma: float, truncate: float) -> None:
    with pytest.raises(ValueError, match="sigma"):
        smooth_maps(np.zeros((3, 3)), sigma=sigma, truncate=truncate)
