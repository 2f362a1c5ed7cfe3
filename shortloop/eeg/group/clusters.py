"""Clusters: neighbouring cells of a t map that pass the threshold with the same sign."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import generate_binary_structure, label

from shortloop.types import FloatArray, IntArray

__all__ = ["label_clusters", "max_cluster_mass"]


def label_clusters(t: FloatArray, threshold: float) -> tuple[IntArray, FloatArray]:
    """Find the clusters of one t map.

    Parameters
    ----------
    t : array of float, shape (\\*map)
        t values; a curve over bins or a plane.
    threshold : float
        A cell is in a cluster if its \\|t\\| is above this (not equal).

    Returns
    -------
    labels : array of int, shape (\\*map)
        Positive clusters from 1 up, negative ones from -1 down, each from the heaviest to the lightest;
        0 outside clusters.
    masses : array of float, shape (1 + positive clusters + negative clusters,)
        Sum of \\|t\\| of each cluster, in the order 0, 1, 2, … , -2, -1: the mass of cluster `label` is
        ``masses[label]``, also for negative labels, and ``masses[0]`` is 0.

    Notes
    -----
    Cells are neighbours along the axes only (two in a curve, four in a plane) and clusters of opposite sign
    never join: Maris & Oostenveld (2007), Nonparametric statistical testing of EEG- and MEG-data,
    J Neurosci Methods 164, section 3.1.1.
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

    Parameters
    ----------
    t_maps : array of float, shape (n, \\*map)
        t maps, e.g. one for each permutation.
    threshold : float
        As in :func:`label_clusters`.

    Returns
    -------
    array of float, shape (n,)
        Largest sum of \\|t\\| over the clusters of each map; 0 where it has none.

    Notes
    -----
    All maps are labelled in one call, with a neighbourhood that does not reach from map to map.
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
