"""t and z equal SciPy's, and cells without variance are finite and make sense."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shortloop.eeg.group.maps import leave_one_out_z, one_sample_t

shapes = st.one_of(st.tuples(st.integers(1, 9)), st.tuples(st.integers(1, 5), st.integers(1, 5)))


@settings(max_examples=40, deadline=None)
@given(participants=st.integers(2, 20), shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_t_equals_scipy(participants: int, shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    deviations = rng.normal(rng.normal(0, 5, shape), 4, (participants, *shape))
    expected = stats.ttest_1samp(deviations, 0.0, axis=0).statistic
    varies = deviations.std(axis=0, ddof=1) > 1e-3
    np.testing.assert_allclose(one_sample_t(deviations)[varies], expected[varies], rtol=1e-10)


@pytest.mark.parametrize("participants", [2, 3, 7, 18])
def test_cells_without_variance(participants: int) -> None:
    # chance; chance but for rounding; a little above; far above; far below; about the same for everybody
    levels = np.array([0.0, 7e-15, 2 / 3, 200 / 3, -100 / 3])
    t = one_sample_t(np.repeat(levels[np.newaxis], participants, axis=0))
    assert t[0] == t[1] == 0
    assert np.isfinite(t).all()
    assert t[4] < 0 < t[2] < t[3]
    rounded = np.repeat(levels[np.newaxis], participants, axis=0)
    rounded[::2] *= 1 + 1e-15
    np.testing.assert_allclose(one_sample_t(rounded), t, rtol=1e-12, atol=1e-9)


def test_agreement_beats_near_agreement() -> None:
    agree = np.full(8, 20.0)
    nearly = agree + np.array([1, -1] * 4) * 0.05
    t = one_sample_t(np.stack([agree, nearly], axis=1))
    assert t[0] > t[1] == pytest.approx(stats.ttest_1samp(nearly, 0.0).statistic)


@settings(max_examples=30, deadline=None)
@given(count=st.integers(3, 12), shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_z_leaves_one_out(count: int, shape: tuple[int, ...], seed: int) -> None:
    maps = np.random.default_rng(seed).normal(33, 4, (count, *shape))
    z = leave_one_out_z(maps)
    for index in range(count):
        others = np.delete(maps, index, axis=0)
        sd = others.std(axis=0, ddof=1)
        wide = sd > 0.01
        expected = (maps[index] - others.mean(axis=0)) / sd
        np.testing.assert_allclose(z[index][wide], expected[wide], rtol=1e-6)


def test_z_of_cells_where_the_others_do_not_vary() -> None:
    maps = np.full((5, 3), 100 / 3)
    maps[0, 1] = 90.0  # only one map differs: the others give no scale to measure it with
    maps[:2, 2] = [90.0, 60.0]
    z = leave_one_out_z(maps)
    np.testing.assert_array_equal(z[:, 0], 0)
    assert z[0, 1] == 0
    assert (z[1:, 1] < 0).all()
    assert (z[:2, 2] > 0).all()


def test_z_needs_two_others() -> None:
    np.testing.assert_array_equal(leave_one_out_z(np.array([[1.0], [2.0]])), [[0], [0]])
