"""Folds are those of scikit-learn's splitters; draws and permutations are fair and each their own."""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import LeaveOneGroupOut, StratifiedGroupKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from shortloop.base.seeds import seed_for
from shortloop.eeg.decoding.permute import permuted_labels, subsampled
from shortloop.eeg.decoding.selection.anova import fold_anova, fold_sums, select_features
from shortloop.eeg.decoding.selection.folds import run_folds, stratified_folds
from shortloop.eeg.decoding.selection.scaling import moments, zscore


def by_sklearn(labels: np.ndarray, n_folds: int, seed: int | None) -> np.ndarray:
    splitter = StratifiedKFold(n_folds, shuffle=seed is not None, random_state=seed)
    folds = np.full(len(labels), -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class smaller than the number of folds
        for fold, (_, held_out) in enumerate(splitter.split(labels, labels)):
            folds[held_out] = fold
    return folds


@st.composite
def unbalanced_labels(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    """Labels of 2 to 5 classes, in any order, not from 0 up, and a number of folds they allow."""
    names = draw(st.lists(st.integers(-3, 40), min_size=2, max_size=5, unique=True))
    counts = draw(st.lists(st.integers(1, 23), min_size=len(names), max_size=len(names)))
    order = draw(st.permutations(range(sum(counts))))
    n_folds = draw(st.integers(2, max(2, min(12, max(counts)))))
    counts[0] = max(counts[0], n_folds)
    labels = np.repeat(names, counts)
    return labels[order + list(range(len(order), len(labels)))], n_folds


@settings(max_examples=60, deadline=None)
@given(unbalanced_labels(), st.one_of(st.none(), st.integers(0, 2**32 - 1)))
def test_equal_to_sklearn(case: tuple[np.ndarray, int], seed: int | None) -> None:
    labels, n_folds = case
    np.testing.assert_array_equal(stratified_folds(labels, n_folds, seed), by_sklearn(labels, n_folds, seed))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_folds_of_runs_are_those_of_sklearn(data: st.DataObject) -> None:
    """Of runs that are mixed, of one class, or lack one; in any order of the trials."""
    draw = data.draw
    classes, at_most = draw(st.integers(2, 4)), draw(st.integers(2, 6))
    sizes = st.lists(st.integers(0, 9), min_size=classes, max_size=classes).filter(any)
    table = np.array(draw(st.lists(sizes, min_size=2, max_size=9)))
    runs, labels = (np.repeat(each, table[np.nonzero(table)]) for each in np.nonzero(table))
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(len(runs))
    runs, labels = 7 - 2 * runs[order], labels[order]
    folds, count = run_folds(labels, runs, at_most)
    assert count == min(at_most, *(len(set(runs[labels == each])) for each in set(labels)))
    if count < 2 or np.bincount(labels).max() < count:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = np.full(len(labels), -1)
        for fold, (_, held_out) in enumerate(StratifiedGroupKFold(count).split(labels, labels, runs)):
            expected[held_out] = fold
    np.testing.assert_array_equal(folds, expected)


@pytest.mark.parametrize("sizes", [[20] * 5, [3, 20, 9, 12]])
def test_runs_that_all_have_all_classes_are_left_out_one_by_one(sizes: list[int]) -> None:
    runs = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.arange(len(runs)) % 2
    folds, count = run_folds(labels, runs, 10)
    held_out = {frozenset(np.flatnonzero(folds == fold)) for fold in range(count)}
    assert held_out == {frozenset(each) for _, each in LeaveOneGroupOut().split(runs, labels, runs)}


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=2, max_size=5),
    seed=st.integers(0, 2**32 - 1),
    order=st.integers(),
)
def test_each_class_has_the_size_of_the_smallest(sizes: list[int], seed: int, order: int) -> None:
    labels = np.random.default_rng(abs(order)).permutation(np.repeat(np.arange(len(sizes)), sizes))
    kept = subsampled(labels, seed=seed, names=("S1", "study"))
    assert np.bincount(labels[kept]).tolist() == [min(sizes)] * len(sizes)
    assert (np.diff(kept) > 0).all()
    smallest = [number for number, size in enumerate(sizes) if size == min(sizes)]
    assert set(np.flatnonzero(np.isin(labels, smallest))) <= set(kept.tolist())
    np.testing.assert_array_equal(kept, subsampled(labels, seed=seed, names=("S1", "study")))


def test_subsamples_are_of_seed_participant_and_phase_and_all_trials_as_likely() -> None:
    labels = np.repeat([0, 1], [100, 20])
    drawn = {
        tuple(subsampled(labels, seed=seed, names=names).tolist())
        for seed, names in [(0, ("S1", "a")), (0, ("S2", "a")), (0, ("S1", "b")), (1, ("S1", "a"))]
    }
    assert len(drawn) == 4
    labels = np.repeat([0, 1], [10, 5])
    times = np.zeros(15)
    for seed in range(2000):
        times[subsampled(labels, seed=seed, names=("S1", "a"))] += 1
    assert (times[10:] == 2000).all()
    assert abs(times[:10] - 1000).max() < 5 * np.sqrt(2000 / 4)


NAMES = ("S01", "test")
LABELS = np.repeat([0, 1, 2], 20)


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_counts_are_kept_within_folds(n_folds: int) -> None:
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [20, 31, 24]))
    folds = stratified_folds(labels, n_folds, 3)
    shuffled = permuted_labels(labels, 50, seed=1, names=NAMES, folds=folds)
    for fold in range(n_folds):
        expected = np.bincount(labels[folds == fold], minlength=3)
        for each in shuffled:
            np.testing.assert_array_equal(np.bincount(each[folds == fold], minlength=3), expected)
    assert len({each.tobytes() for each in shuffled}) == 50
    assert (shuffled != labels).any(axis=0).all()  # no trial keeps its label always


def test_labels_of_a_run_stay_in_it() -> None:
    """Folds of two runs each: the number of trials of each class of a run is no accident of its labels."""
    rng = np.random.default_rng(2)
    runs, folds = np.repeat([0, 1, 2, 3], 15), np.repeat([0, 1, 1, 0], 15)
    labels = rng.permutation(np.repeat([0, 1], [25, 35]))
    for each in permuted_labels(labels, 50, seed=1, names=NAMES, folds=folds, runs=runs):
        for run in range(4):
            np.testing.assert_array_equal(np.sort(each[runs == run]), np.sort(labels[runs == run]))


def test_runs_of_one_class_change_places_within_their_fold() -> None:
    """Runs of 3, 4, 5 and 6 trials, two of each class: each of four labellings as often as the others."""
    runs, folds = np.repeat([0, 1, 2, 3], [3, 4, 5, 6]), np.repeat([0, 0, 1, 1], [3, 4, 5, 6])
    drawn = permuted_labels(np.array([0, 1, 1, 0])[runs], 2000, seed=1, names=NAMES, folds=folds, runs=runs)
    seen = Counter(each.tobytes() for each in drawn)
    expected = {
        np.array(of, np.int8)[runs].tobytes()
        for of in itertools.product([0, 1], repeat=4)
        if of[0] != of[1] and of[2] != of[3]
    }
    assert set(seen) == expected
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


def test_permutations_depend_neither_on_how_many_are_asked_for_nor_on_global_state() -> None:
    for kwargs in ({}, {"folds": stratified_folds(LABELS, 5, 0)}):
        every = permuted_labels(LABELS, 30, seed=7, names=NAMES, **kwargs)  # type: ignore[arg-type]
        for first, count in [(0, 1), (0, 12), (17, 1), (17, 13), (29, 1)]:
            part = permuted_labels(LABELS, count, seed=7, names=NAMES, first=first, **kwargs)
            np.testing.assert_array_equal(part, every[first : first + count])
    expected = permuted_labels(LABELS, 5, seed=3, names=NAMES)
    for state in (0, 1):
        np.random.seed(state)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
        np.testing.assert_array_equal(permuted_labels(LABELS, 5, seed=3, names=NAMES), expected)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index] # noqa: NPY002


def test_participants_phases_seeds_and_permutations_differ() -> None:
    cases = itertools.product((0, 1), (("S01", "test"), ("S01", "study"), ("S02", "test"), ("S0", "1test")))
    drawn = [permuted_labels(LABELS, 20, seed=seed, names=names) for seed, names in cases]
    assert len({each.tobytes() for maps in drawn for each in maps}) == 8 * 20
    ones: list[Any] = ["", "a", "b", "ab", "1", 1]
    every = [(), *((each,) for each in ones), ("a", "b"), ("b", "a"), ("a", 1), ("a", "1")]
    words = {
        seed_for(seed, *names).generate_state(4).tobytes() for seed in (0, 1, 2**32 - 1) for names in every
    }
    assert len(words) == 33
    again = seed_for(1, "a", 1).generate_state(4)
    np.testing.assert_array_equal(again, seed_for(1, "a", 1).generate_state(4))


@pytest.mark.parametrize("within", [False, True])
def test_all_orders_are_equally_likely(within: bool) -> None:
    labels = np.array([0, 0, 1, 1, 2, 0])
    folds = np.array([0, 0, 0, 0, 1, 1]) if within else None
    shuffled = permuted_labels(labels, 6000, seed=11, names=NAMES, folds=folds)
    seen = Counter(each.tobytes() for each in shuffled)
    # Without folds 6! / (3! 2! 1!) = 60 orders; with them 4! / (2! 2!) × 2 = 12.
    assert len(seen) == (12 if within else 60)
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**70), st.lists(st.text(max_size=3) | st.integers(), max_size=3))
def test_draws_of_a_seed_are_those_of_its_numbers_in_a_list(seed: int, names: list[str | int]) -> None:
    text = "\0".join(f"{type(name).__name__}:{name}" for name in names)
    try:
        digest = hashlib.sha256(text.encode()).digest()
    except UnicodeEncodeError:
        return
    listed = np.random.SeedSequence([seed, *np.frombuffer(digest, "<u4").tolist()])
    for found, expected in zip(
        [seed_for(seed, *names), *seed_for(seed, *names).spawn(1)], [listed, *listed.spawn(1)]
    ):
        np.testing.assert_array_equal(found.generate_state(8), expected.generate_state(8))


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
    x = np.random.default_rng(0).standard_normal((30, 8))
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
    assert np.isnan(f[folds[20:], np.arange(20, 30)]).all()


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
    x = np.random.default_rng(5).integers(0, 3, (30, 20)).astype(float)
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


def _drawn(first: int) -> np.ndarray:
    return permuted_labels(LABELS, 3, seed=5, names=NAMES, first=first)


def test_forked_workers_draw_different_permutations() -> None:
    # Published mistake 4: workers fork without reseeding and all draw the same shuffles.
    expected = permuted_labels(LABELS, 12, seed=5, names=NAMES)
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("fork")) as pool:
        drawn = np.concatenate(list(pool.map(_drawn, (0, 3, 6, 9))))
    assert len({each.tobytes() for each in drawn}) == 12
    np.testing.assert_array_equal(drawn, expected)
