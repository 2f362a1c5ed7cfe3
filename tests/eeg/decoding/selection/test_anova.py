"""Selected features are those of scipy.stats.f_oneway on the training trials; z-scores are SciPy's, too."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.preprocessing import StandardScaler

from shortloop.eeg.decoding.selection.anova import fold_anova, fold_sums, select_features
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.selection.scaling import moments, zscore


def by_scipy(
    x: np.ndarray, labels: np.ndarray, folds: np.ndarray, n_folds: int
) -> tuple[np.ndarray, np.ndarray]:
    """F and p of each fold and feature, one f_oneway at a time."""
    f, p = np.empty((2, n_folds, x.shape[1]))
    for fold in range(n_folds):
        train = folds != fold
        for j in range(x.shape[1]):
            column = x[train, j].astype(np.float64)
            groups = [column[labels[train] == k] for k in np.unique(labels[train])]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # constant input, which gives NaN or inf
                f[fold, j], p[fold, j] = stats.f_oneway(*groups)
    return f, p


def exact_f(column: np.ndarray, labels: np.ndarray) -> float:
    """F of one feature in fractions, with no rounding at all."""
    values = [Fraction(float(v)) for v in column]
    grand = sum(values, Fraction(0)) / len(values)
    between, within, classes = Fraction(0), Fraction(0), np.unique(labels)
    for k in classes:
        group = [v for v, label in zip(values, labels) if label == k]
        mean = sum(group, Fraction(0)) / len(group)
        between += len(group) * (mean - grand) ** 2
        within += sum(((v - mean) ** 2 for v in group), Fraction(0))
    if within == 0:
        return float("nan") if between == 0 else float("inf")
    return float(between / (len(classes) - 1) / (within / (len(values) - len(classes))))


def check(x: np.ndarray, labels: np.ndarray, folds: np.ndarray, n_folds: int, rtol: float = 1e-9) -> None:
    n_classes = int(labels.max()) + 1
    f, p = by_scipy(x, labels, folds, n_folds)
    found = fold_anova(x, labels, folds, fold_sums(x, labels, folds, n_classes, n_folds))
    np.testing.assert_allclose(found, f, rtol=rtol, atol=1e-9)
    for alpha in (0.001, 0.05, 0.4):
        kept = select_features(x, labels, folds, n_classes=n_classes, n_folds=n_folds, alpha=alpha)
        assert kept.dtype == bool
        np.testing.assert_array_equal(kept, p < alpha)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 5),
    n_folds=st.integers(2, 6),
    offset=st.sampled_from([0.0, 3.0, -1e6]),
    scale=st.sampled_from([1.0, 1e-12, 1e5]),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_random_data(
    seed: int, n_classes: int, n_folds: int, offset: float, scale: float, dtype: type[np.floating]
) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(n_folds + 1, 15, n_classes)))
    effect = rng.standard_normal((n_classes, 12)) * rng.uniform(0, 2, 12)
    x = (scale * (rng.standard_normal((len(labels), 12)) + effect[labels] + offset)).astype(dtype)
    check(x, labels, stratified_folds(labels, n_folds, seed % 1000), n_folds, rtol=1e-6)


def balanced(n_folds: int = 5, each: int = 10) -> tuple[np.ndarray, np.ndarray]:
    labels = np.tile(np.arange(3), each)
    return labels, stratified_folds(labels, n_folds, 0)


def test_constant_features() -> None:
    labels, folds = balanced()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 8))
    x[:, 0] = 0.0
    x[:, 1] = 0.1  # whose mean is not 0.1 in floating point
    x[:, 2] = 1e6 / 3
    x[:, 3] = np.where(folds == 2, x[:, 3], 0.1)  # constant in the training trials of fold 2 alone
    x[:, 4] = np.array([0.1, 0.7, -5.3])[labels]  # constant within classes
    x[:, 5] = np.array([0.1, 0.1, 0.1 + 1e-9])[labels]
    x[:, 6] = np.where(folds == 1, x[:, 6], np.array([0.1, 0.7, 0.7])[labels])
    check(x, labels, folds, 5)
    f = fold_anova(x, labels, folds, fold_sums(x, labels, folds, 3, 5))
    assert np.isnan(f[:, :3]).all()
    assert np.isnan(f[2, 3])
    assert np.isposinf(f[:, 4:6]).all()
    assert np.isposinf(f[1, 6])
    kept = select_features(x, labels, folds, n_classes=3, n_folds=5, alpha=1e-12)
    assert not kept[:, :3].any()
    assert kept[:, 4:6].all()


@pytest.mark.parametrize("outlier", [1e3, 1e6, 1e9, 1e12])
def test_outlier_that_is_held_out(outlier: float) -> None:
    # Sums over all trials are dominated by one that the fold's training trials do not have.
    labels, folds = balanced()
    rng = np.random.default_rng(1)
    x = rng.standard_normal((30, 30)) + 0.8 * (labels == 1)[:, np.newaxis]
    x[:, 20:] = rng.standard_normal(10)
    x[np.arange(30), np.arange(30)] += outlier
    f = fold_anova(x, labels, folds, fold_sums(x, labels, folds, 3, 5))
    for j in range(30):
        own = folds[j]  # the fold without the outlier of feature j
        train = folds != own
        np.testing.assert_allclose(f[own, j], exact_f(x[train, j], labels[train]), rtol=1e-6)
    constant = f[folds[20:], np.arange(20, 30)]
    assert np.isnan(constant).all()


@pytest.mark.parametrize(
    ("offset", "scale", "distance"),
    [
        *((0.0, 1.0, distance) for distance in (1e4, 1e7, 1e10)),
        *((1e6, 1.0, 0.7), (5e-12, 1e-12, 0.7), (-1e9, 1.0, 0.7), (0.0, 1e-150, 0.7), (0.0, 1e150, 0.7)),
    ],
)
def test_offsets_scales_and_classes_far_apart(offset: float, scale: float, distance: float) -> None:
    labels, folds = balanced()
    noise = np.random.default_rng(3).standard_normal((30, 20))
    x = offset + scale * (noise + distance * labels[:, np.newaxis])
    f = fold_anova(x, labels, folds, fold_sums(x, labels, folds, 3, 5))
    for fold in range(5):
        train = folds != fold
        expected = [exact_f(x[train, j], labels[train]) for j in range(20)]
        np.testing.assert_allclose(f[fold], expected, rtol=1e-6)


def test_odd_values_and_classes() -> None:
    labels, folds = balanced()
    x = np.random.default_rng(4).standard_normal((30, 20)) + 0.8 * labels[:, np.newaxis] + 1000
    check(x.astype(np.float32), labels, folds, 5, rtol=1e-7)
    # Counts: few distinct values, so that features tie with each other exactly.
    labels, folds = balanced()
    rng = np.random.default_rng(5)
    x = rng.integers(0, 3, (30, 20)).astype(float)
    x = np.hstack([x, x, 7 * x + 3])
    check(x, labels, folds, 5)
    kept = select_features(x, labels, folds, n_classes=3, n_folds=5, alpha=0.2)
    assert kept.any()
    assert not kept.all()
    np.testing.assert_array_equal(kept[:, :20], kept[:, 20:40])
    labels = np.array([0] * 10 + [1] * 10 + [2] * 3)
    folds = np.r_[np.arange(10) % 4, np.arange(10) % 4, 1, 1, 1]  # fold 1 holds out all of class 2
    x = np.random.default_rng(6).standard_normal((23, 15)) + labels[:, np.newaxis]
    check(x, labels, folds, 4)


def test_no_feature_is_kept_of_one_class_or_of_one_trial_in_each_and_all_with_an_alpha_of_one() -> None:
    labels = np.array([0] * 8 + [1] * 4)
    folds = np.r_[np.arange(8) % 2, 1, 1, 1, 1]
    x = np.random.default_rng(7).standard_normal((12, 5)) + 9 * labels[:, np.newaxis]
    kept = select_features(x, labels, folds, n_classes=2, n_folds=2, alpha=0.9)
    assert kept[0].any()
    assert not kept[1].any()
    each = np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1])
    assert not select_features(np.eye(6), *each, n_classes=3, n_folds=2, alpha=0.9).any()
    x[:, 0] = 2.0
    assert select_features(x, labels, folds, n_classes=2, n_folds=2, alpha=1.0).all()


@pytest.mark.parametrize("alpha", [1e-6, 1e-14, 1e-17, 1e-30])
def test_smallest_alpha(alpha: float) -> None:
    labels, folds = balanced()
    x = np.random.default_rng(9).standard_normal((30, 60))
    x += labels[:, np.newaxis] * np.geomspace(0.5, 300, 60)
    _, p = by_scipy(x, labels, folds, 5)
    kept = select_features(x, labels, folds, n_classes=3, n_folds=5, alpha=alpha)
    np.testing.assert_array_equal(kept, p < alpha)
    assert kept.any()


def test_noise_is_kept_as_often_as_alpha_says_and_the_smallest_variation_counts() -> None:
    labels, folds = balanced()
    x = np.random.default_rng(10).standard_normal((30, 4000))
    kept = select_features(x, labels, folds, n_classes=3, n_folds=5, alpha=0.05)
    assert stats.binomtest(int(kept[0].sum()), 4000, 0.05).pvalue > 1e-4
    x = 1.0 + 1e-9 * np.random.default_rng(0).standard_normal((50, 4))
    np.testing.assert_allclose(zscore(x).std(axis=0), 1.0, rtol=1e-6)
    x = np.random.default_rng(1).standard_normal((5, 3))
    before = x.copy()
    x.flags.writeable = False  # as a memory map of a finished job is
    zscore(x)
    np.testing.assert_array_equal(x, before)


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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6 / 3, 1e-12, 7.0])
@pytest.mark.parametrize("trials", [1, 240, 3001])
def test_constant_feature_is_zero(value: float, dtype: type[np.floating], trials: int) -> None:
    x = np.full((trials, 3), value, dtype=dtype)
    found = zscore(x)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, 0.0)
    assert np.isposinf(moments(x)[1]).all()
