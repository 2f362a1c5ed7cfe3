"""Permutations: each by draws of its own, all orders equally likely, the same in every process."""

from __future__ import annotations

import hashlib
import itertools
import multiprocessing
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from shortloop.base.seeds import seed_for
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds

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


def test_a_permutation_does_not_depend_on_how_many_are_asked_for() -> None:
    folds = stratified_folds(LABELS, 5, 0)
    for kwargs in ({}, {"folds": folds}):
        every = permuted_labels(LABELS, 30, seed=7, names=NAMES, **kwargs)  # type: ignore[arg-type]
        for first, count in [(0, 1), (0, 12), (17, 1), (17, 13), (29, 1)]:
            part = permuted_labels(LABELS, count, seed=7, names=NAMES, first=first, **kwargs)
            np.testing.assert_array_equal(part, every[first : first + count])


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


def test_global_state_plays_no_part() -> None:
    expected = permuted_labels(LABELS, 5, seed=3, names=NAMES)
    for state in (0, 1):
        np.random.seed(state)  # noqa: NPY002
        before = np.random.get_state()[1].copy()  # type: ignore[index] # noqa: NPY002
        np.testing.assert_array_equal(permuted_labels(LABELS, 5, seed=3, names=NAMES), expected)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index] # noqa: NPY002


def _drawn(first: int) -> np.ndarray:
    return permuted_labels(LABELS, 3, seed=5, names=NAMES, first=first)


def test_forked_workers_draw_different_permutations() -> None:
    # Published mistake 4: workers fork without reseeding and all draw the same shuffles.
    expected = permuted_labels(LABELS, 12, seed=5, names=NAMES)
    with ProcessPoolExecutor(4, mp_context=multiprocessing.get_context("fork")) as pool:
        drawn = np.concatenate(list(pool.map(_drawn, (0, 3, 6, 9))))
    assert len({each.tobytes() for each in drawn}) == 12
    np.testing.assert_array_equal(drawn, expected)


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
