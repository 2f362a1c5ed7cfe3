"""From maps to t and z maps, with one rule for cells that do not vary."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray

__all__ = ["MEAN_RESOLUTION", "SD_RESOLUTION", "leave_one_out_z", "one_sample_t"]

SD_RESOLUTION = 1e-3
"""Standard deviations below this count as this, percentage points: one trial of an ordinary study moves a
score by more, and rounding moves it by far less."""

MEAN_RESOLUTION = 1e-9
"""Mean differences below this are rounding errors and count as 0, percentage points."""


def one_sample_t(deviations: FloatArray) -> FloatArray:
    """One-sample t over participants, of every cell of every map.

    Where all participants have the same score, t is undefined. Here the standard deviation is taken to be
    at least `SD_RESOLUTION`, so t is 0 where that score is chance, and otherwise large, finite, of the right
    sign, and the larger the farther the score is from chance: a cell where everybody decodes without error
    must count as evidence, but no single cell may give a cluster infinite mass. It is the same function for
    observed and for null maps, so p values stay exact. A floor on the variance has a precedent in Ridgway et
    al. (2012), The problem of low variance voxels in statistical parametric mapping, NeuroImage 59.

    deviations: float, (participants, ...). Score minus chance, percentage points; two participants or more.
    returns: float, (...). t with `participants` − 1 degrees of freedom.
    """
    mean = deviations.mean(axis=0)
    mean = np.where(np.abs(mean) < MEAN_RESOLUTION, 0.0, mean)
    sd = np.maximum(deviations.std(axis=0, ddof=1), SD_RESOLUTION)
    t: FloatArray = mean * np.sqrt(len(deviations)) / sd
    return t


def leave_one_out_z(maps: FloatArray) -> FloatArray:
    """z-score of each map in the distribution that all the other maps make, cell by cell.

    Put the observed map first and its permutations after it: its z-scores are those in its permutation
    distribution, and every permuted map is treated exactly as the observed one is. Scoring permuted maps in a
    distribution that they are themselves part of would bound them (by (P − 1)/√P for P permutations) and
    make the observed map look special when it is not.

    maps: float, (maps, ...). Scores or deviations, percentage points.
    returns: float, same shape
    """
    count = len(maps)
    if count < 3:
        return np.zeros(maps.shape)
    centred = maps - maps.mean(axis=0)
    grow = count / (count - 1)
    of_others = (centred**2).sum(axis=0) - grow * centred**2
    sd = np.sqrt(np.maximum(of_others, 0.0) / (count - 2))
    varies = sd >= SD_RESOLUTION
    z: FloatArray = np.where(varies, grow * centred / np.where(varies, sd, 1.0), 0.0)
    return z
