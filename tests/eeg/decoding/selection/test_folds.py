"""Folds are those of scikit-learn's splitters; draws and permutations are fair and each their own."""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import LeaveOneGroupOut, StratifiedGroupKFold, StratifiedKFold

from shortloop.base.seeds import seed_for
from shortloop.eeg.decoding.permute import permuted_labels, subsampled
from shortloop.eeg.decoding.selection.folds import run_folds, stratified_folds


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


@pytest.mark.parametrize("seed", [None, 0, 2021])
def test_thesis_size(seed: int | None) -> None:
    labels = np.random.default_rng(1).permutation(np.repeat([0, 1, 2], 80))
    folds = stratified_folds(labels, 10, seed)
    np.testing.assert_array_equal(folds, by_sklearn(labels, 10, seed))
    for fold in range(10):
        np.testing.assert_array_equal(np.bincount(labels[folds == fold]), [8, 8, 8])
    assert (folds != stratified_folds(labels, 10, 1)).any()


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


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(0, 2**32 - 1), st.integers(1, 8))
def test_counts_are_kept(labels: list[int], seed: int, count: int) -> None:
    given_labels = np.array(labels)
    shuffled = permuted_labels(given_labels, count, seed=seed, names=NAMES)
    assert shuffled.shape == (count, len(labels))
    np.testing.assert_array_equal(np.sort(shuffled, axis=1), np.tile(np.sort(given_labels), (count, 1)))


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
    labels = np.array([0, 1, 1, 0])[runs]
    drawn = permuted_labels(labels, 2000, seed=1, names=NAMES, folds=folds, runs=runs)
    seen = Counter(each.tobytes() for each in drawn)
    expected = {
        np.array(of, np.int8)[runs].tobytes()
        for of in itertools.product([0, 1], repeat=4)
        if of[0] != of[1] and of[2] != of[3]
    }
    assert set(seen) == expected
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


def test_permutations_depend_neither_on_how_many_are_asked_for_nor_on_global_state() -> None:
    folds = stratified_folds(LABELS, 5, 0)
    for kwargs in ({}, {"folds": folds}):
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


def _drawn(first: int) -> np.ndarray:
    return permuted_labels(LABELS, 3, seed=5, names=NAMES, first=first)


def test_forked_workers_draw_different_permutations() -> None:
    # Published mistake 4: workers fork without reseeding and all draw the same shuffles.
    expected = permuted_labels(LABELS, 12, seed=5, names=NAMES)
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("fork")) as pool:
        drawn = np.concatenate(list(pool.map(_drawn, (0, 3, 6, 9))))
    assert len({each.tobytes() for each in drawn}) == 12
    np.testing.assert_array_equal(drawn, expected)


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
