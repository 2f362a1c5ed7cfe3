"""z-scores are SciPy's and scikit-learn's, and 0 where a feature does not vary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.preprocessing import StandardScaler

from shortloop.eeg.decoding.selection.scaling import moments, zscore


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    trials=st.integers(2, 60),
    offset=st.sampled_from([0.0, 1e6, -4e3]),
    scale=st.sampled_from([1.0, 1e-12, 1e8]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_equal_to_scipy_and_sklearn(
    seed: int, trials: int, offset: float, scale: float, dtype: type[np.floating]
) -> None:
    x = np.random.default_rng(seed).standard_normal((trials, 7))
    x = (scale * (x + offset)).astype(dtype)
    x = x[:, x.std(axis=0, dtype=float) > 0]
    wide = x.astype(np.float64)
    found = zscore(x)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, stats.zscore(wide, axis=0), rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found, StandardScaler().fit_transform(wide), rtol=1e-7, atol=1e-8)
    mean, std = moments(x)
    np.testing.assert_allclose(mean, wide.mean(axis=0), rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(std, wide.std(axis=0), rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6 / 3, 1e-12, 7.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trials", [1, 2, 240, 3001])
def test_constant_feature_is_zero(value: float, dtype: type[np.floating], trials: int) -> None:
    x = np.full((trials, 3), value, dtype=dtype)
    found = zscore(x)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, 0.0)
    assert np.isposinf(moments(x)[1]).all()


def test_smallest_variation_still_counts() -> None:
    x = 1.0 + 1e-9 * np.random.default_rng(0).standard_normal((50, 4))
    np.testing.assert_allclose(zscore(x).std(axis=0), 1.0, rtol=1e-6)


def test_input_is_left_as_it_is() -> None:
    x = np.random.default_rng(1).standard_normal((5, 3))
    before = x.copy()
    x.flags.writeable = False  # as a memory map of a finished job is
    zscore(x)
    np.testing.assert_array_equal(x, before)
