"""Folds are those of scikit-learn's splitters; subsampling leaves as many trials of each class."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import LeaveOneGroupOut, StratifiedGroupKFold, StratifiedKFold

from shortloop.eeg.decoding.permute import subsampled
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


def test_draws_are_of_the_seed_the_participant_and_the_phase() -> None:
    labels = np.repeat([0, 1], [100, 20])
    drawn = {
        tuple(subsampled(labels, seed=seed, names=names).tolist())
        for seed, names in [(0, ("S1", "a")), (0, ("S2", "a")), (0, ("S1", "b")), (1, ("S1", "a"))]
    }
    assert len(drawn) == 4


def test_all_trials_are_as_likely() -> None:
    labels = np.repeat([0, 1], [10, 5])
    times = np.zeros(15)
    for seed in range(2000):
        times[subsampled(labels, seed=seed, names=("S1", "a"))] += 1
    assert (times[10:] == 2000).all()
    assert abs(times[:10] - 1000).max() < 5 * np.sqrt(2000 / 4)
