"""Clusters: neighbouring cells of a t map that pass the threshold with the same sign."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import generate_binary_structure, label

from shortloop.base.types import FloatArray, IntArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["label_clusters", "max_cluster_mass"]


def label_clusters(t: FloatArray, threshold: float) -> tuple[IntArray, FloatArray]:
    """Find the clusters of one t map.

    Cells are neighbours along the axes only (two in a curve, four in a plane) and clusters of opposite sign
    never join: Maris & Oostenveld (2007), Nonparametric statistical testing of EEG- and MEG-data,
    J Neurosci Methods 164, section 3.1.1.

    t: float, (\\*map). t values; a curve over bins or a plane.
    labels: int, (\\*map). Positive clusters from 1 up, negative ones from -1 down, each from the heaviest to
        the lightest; 0 outside clusters.
    masses: float, (1 + positive clusters + negative clusters,)
    """
    labels = np.zeros(t.shape, dtype=np.intp)
    both = []
    for sign in (1, -1):
        found, masses, _ = _one_sign(sign * t[np.newaxis], threshold)
        order = np.argsort(-masses, kind="stable")
        rank = np.zeros(len(masses) + 1, dtype=np.intp)
        rank[1 + order] = np.arange(1, len(masses) + 1)
        labels += sign * rank[found[0]]
        both.append(masses[order])
    return labels, np.concatenate([[0.0], both[0], both[1][::-1]])


def max_cluster_mass(t_maps: FloatArray, threshold: float) -> FloatArray:
    """Mass of the heaviest cluster of each of many t maps, of either sign.

    All maps are labelled in one call, with a neighbourhood that does not reach from map to map.

    t_maps: float, (n, \\*map). t maps, e.g. one for each permutation.
    returns: float, (n,). Largest sum of \\|t\\| over the clusters of each map; 0 where it has none.
    """
    heaviest = np.zeros(len(t_maps))
    for sign in (1, -1):
        _, masses, owners = _one_sign(sign * t_maps, threshold)
        np.maximum.at(heaviest, owners, masses)
    return heaviest


def _one_sign(t_maps: FloatArray, threshold: float) -> tuple[NDArray[np.intp], FloatArray, NDArray[np.intp]]:
    # Labels of the clusters above the threshold; of each cluster, its mass and the map it lies in.
    neighbours = generate_binary_structure(t_maps.ndim, 1)
    neighbours[0] = neighbours[2] = False  # not from one map to the next
    above = t_maps > threshold
    labels = np.zeros(t_maps.shape, dtype=np.intp)
    count = label(above, neighbours, output=labels)
    cells = np.flatnonzero(above)
    of_cell = labels.ravel()[cells] - 1
    masses = np.zeros(count)
    np.add.at(masses, of_cell, t_maps.ravel()[cells])
    owners = np.zeros(count, dtype=np.intp)
    owners[of_cell] = cells // max(1, math.prod(t_maps.shape[1:]))
    return labels, masses, owners
