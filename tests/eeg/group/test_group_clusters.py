"""Clusters equal those of a slow flood fill and of MNE."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mne.stats.cluster_level import _find_clusters

from shortloop.eeg.group.statistics import label_clusters, max_cluster_mass


def flood(t: np.ndarray, threshold: float) -> dict[frozenset[tuple[int, ...]], float]:
    """Cells of each cluster, and its signed mass."""
    todo = {cell for cell in np.ndindex(t.shape) if abs(t[cell]) > threshold}
    clusters = {}
    while todo:
        edge = [todo.pop()]
        members = set(edge)
        while edge:
            cell = edge.pop()
            for axis in range(t.ndim):
                for step in (-1, 1):
                    near = tuple(c + step * (a == axis) for a, c in enumerate(cell))
                    if near in todo and t[near] * t[cell] > 0:
                        todo.remove(near)
                        members.add(near)
                        edge.append(near)
        clusters[frozenset(members)] = float(sum(t[m] for m in members))
    return clusters


def cells_of(mask: np.ndarray) -> frozenset[tuple[int, ...]]:
    return frozenset(tuple(map(int, cell)) for cell in np.argwhere(mask))


def found(t: np.ndarray, threshold: float) -> dict[frozenset[tuple[int, ...]], float]:
    labels, masses = label_clusters(t, threshold)
    return {
        cells_of(labels == label): np.sign(label) * masses[label] for label in np.unique(labels[labels != 0])
    }


shapes = st.one_of(st.tuples(st.integers(1, 25)), st.tuples(st.integers(1, 8), st.integers(1, 8)))


@settings(max_examples=60, deadline=None)
@given(shape=shapes, threshold=st.floats(0.1, 2), seed=st.integers(0, 2**32 - 1), whole=st.booleans())
def test_equal_a_flood_fill(shape: tuple[int, ...], threshold: float, seed: int, whole: bool) -> None:
    t_maps = np.random.default_rng(seed).normal(0, 1.5, (4, *shape))
    if whole:  # many cells exactly at the threshold, which do not pass it
        t_maps, threshold = np.round(t_maps), 1.0
    heaviest = max_cluster_mass(t_maps, threshold)
    for t, mass in zip(t_maps, heaviest):
        expected = flood(t, threshold)
        assert found(t, threshold) == pytest.approx(expected)
        assert mass == pytest.approx(max(map(abs, expected.values()), default=0.0))


@pytest.mark.parametrize("shape", [(40,), (12, 15)])
def test_equal_mne(shape: tuple[int, ...]) -> None:
    t = np.random.default_rng(3).normal(0, 2, shape)
    masks, masses = _find_clusters(t, 1.5, tail=0)
    expected = {}
    for mask, mass in zip(masks, masses):
        inside = np.zeros(t.size, dtype=bool)
        inside[mask] = True  # slices of a curve, flat masks of a plane
        expected[cells_of(inside.reshape(shape))] = mass
    assert len(expected) > 5
    assert found(t, 1.5) == pytest.approx(expected)


def test_corners_do_not_join_and_opposite_signs_do_not_join() -> None:
    t = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, -4.0], [0.0, 0.0, -4.0]])
    labels, masses = label_clusters(t, 2.0)
    assert sorted(np.unique(labels)) == [-1, 0, 1, 2]
    assert labels[1, 2] == labels[2, 2] == -1
    np.testing.assert_array_equal(masses[[0, 1, 2, -1]], [0, 3, 3, 8])


def test_numbered_from_the_heaviest() -> None:
    labels, masses = label_clusters(np.array([3.0, 0, 9, 0, 5, 0, -3, 0, -7]), 2.0)
    np.testing.assert_array_equal(labels, [3, 0, 1, 0, 2, 0, -2, 0, -1])
    np.testing.assert_array_equal(masses[labels], [3, 0, 9, 0, 5, 0, 3, 0, 7])


def test_clusters_do_not_reach_from_map_to_map() -> None:
    t_maps = np.full((3, 2, 2), 5.0)
    np.testing.assert_array_equal(max_cluster_mass(t_maps, 2.0), [20, 20, 20])
    np.testing.assert_array_equal(max_cluster_mass(t_maps[:, 0], 2.0), [10, 10, 10])


def test_nothing_passes() -> None:
    labels, masses = label_clusters(np.array([[2.0, -2.0]]), 2.0)
    assert not labels.any()
    np.testing.assert_array_equal(masses, [0.0])
    np.testing.assert_array_equal(max_cluster_mass(np.zeros((4, 3)), 2.0), np.zeros(4))
