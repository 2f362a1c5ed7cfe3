"""Subsampling leaves as many trials of each class, the same ones each time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.eeg.decoding.permute import subsampled


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
