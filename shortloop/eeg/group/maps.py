"""Maps of scores over participants: their statistics, t and z, and maps drawn under the null hypothesis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.group.settings import NullName
from shortloop.eeg.score_names import Score

SD_RESOLUTION = 1e-3
"""Standard deviations below this count as this, percentage points: one trial of an ordinary study moves a
score by more, and rounding moves it by far less."""

MEAN_RESOLUTION = 1e-9  # mean differences below this are rounding errors and count as 0, percentage points

TRUE = 0  # number of a participant's true map; the others are numbered from 1

VALUES_AT_ONCE = 2**20


@dataclass(frozen=True)
class MapStatistics:
    """Statistics of one kind of map over participants; a map is a curve over bins or a plane.

    With one participant, t is the z-score of its smoothed map in its own permutation distribution.
    """

    scores: FloatArray  # (participants, *map), observed, not smoothed
    mean: FloatArray  # (*map), mean over participants of the smoothed scores
    t: FloatArray  # (*map), one-sample t of the smoothed scores against chance
    p_max: FloatArray  # (*map), two-sided p, corrected by the distribution of the maximum statistic
    p_cluster: FloatArray  # (*map), the same by the maximum cluster mass; 1 outside clusters
    clusters: IntArray  # (*map), number of the cluster: positive 1 …, negative -1 …, 0 none
    significant: np.ndarray  # bool, (*map), cells of clusters with p_cluster of at most alpha
    null_max: FloatArray  # (permutations,), largest |t| of each
    null_mass: FloatArray  # (permutations,), largest cluster mass of each
    threshold: float  # |t| above which a cell can be in a cluster
    chance: float  # in the unit of the scores; where it differs, the mean of `expected`
    alpha: float  # family-wise error rate
    level: str = "group"  # or "participant" if there is only one
    note: str = ""  # limits of these statistics, for their readers
    expected: FloatArray | None = None  # (*map), mean chance level, where it differs between cells
    score: Score = "balanced-accuracy"
    null: NullName = ""
    error_rate: str = ""  # known rate of calling noise significant; empty if it is `alpha`

    @property
    def level_of_chance(self) -> FloatArray:
        """Chance level of each cell, mean over participants."""
        return np.full(self.mean.shape, self.chance) if self.expected is None else self.expected


def one_sample_t(deviations: FloatArray) -> FloatArray:
    """One-sample t over participants of deviations from chance (participants, ...), percentage points."""
    # The standard deviation is taken to be at least `SD_RESOLUTION`: a cell where everybody decodes without
    # error must count as evidence, but no single cell may give a cluster infinite mass. It is the same
    # function for observed and for null maps, so p values stay exact. Ridgway et al. (2012), The problem of
    # low variance voxels in statistical parametric mapping, NeuroImage 59, have such a floor.
    mean = deviations.mean(axis=0)
    mean = np.where(np.abs(mean) < MEAN_RESOLUTION, 0.0, mean)
    sd = np.maximum(deviations.std(axis=0, ddof=1), SD_RESOLUTION)
    return np.asarray(mean * np.sqrt(len(deviations)) / sd)


def leave_one_out_z(maps: FloatArray) -> FloatArray:
    """z-score of each map (maps, ...) in the distribution of all other maps, cell by cell."""
    # Every permuted map is treated exactly as the observed one is. Scoring permuted maps in a distribution
    # that they are part of would bound them, by (P − 1)/√P, and make the observed map look special.
    if (count := len(maps)) < 3:
        return np.zeros(maps.shape)
    centred = maps - maps.mean(axis=0)
    grow = count / (count - 1)
    of_others = (centred**2).sum(axis=0) - grow * centred**2
    sd = np.sqrt(np.maximum(of_others, 0.0) / (count - 2))
    varies = sd >= SD_RESOLUTION
    return np.asarray(np.where(varies, grow * centred / np.where(varies, sd, 1.0), 0.0))


def draw_rows(participants: int, others: int, count: int, seed: np.random.SeedSequence) -> IntArray:
    """Draw the map (count, participants) of each participant in each null map: `TRUE`, or 1 to `others`."""
    # Without information, a participant's true map is one of `others` + 1 that could stand in for each other,
    # and the group's is one of (`others` + 1)^participants combinations. Random ones of these, with the true
    # one added, give a p value that is at most alpha in at most alpha of all studies, however few `others`
    # are (Hemerik & Goeman 2018, Exact testing with random permutations, TEST 27:811; the group is the one
    # that turns each participant's maps around in a ring). That a few trainings of each participant make many
    # null maps of the group is from Stelzer, Chen & Turner (2013, NeuroImage 65:69), without the true maps.
    return np.random.default_rng(seed).integers(0, others + 1, (count, participants))


def sign_flips(
    participants: int, count: int, seed: np.random.SeedSequence | None = None
) -> tuple[FloatArray, bool]:
    """Signs (patterns, participants): all, with True, if that is no more work, or random ones."""
    # Nichols & Holmes (2002), Nonparametric permutation tests for functional neuroimaging, Hum Brain Mapp 15
    # (one-sample designs, "multi-subject PET"); Winkler et al. (2014), Permutation inference for the general
    # linear model, NeuroImage 92 (sign flips).
    if participants < 63 and 2**participants <= count + 1:
        patterns = np.arange(2**participants)[:, np.newaxis] >> np.arange(participants)
        return 1.0 - 2.0 * (patterns & 1), True
    if seed is None:
        raise ValueError("random sign flips need a seed")
    return 1.0 - 2.0 * np.random.default_rng(seed).integers(0, 2, (count, participants)), False


def own_level(observed: FloatArray, permuted: FloatArray) -> FloatArray:
    """Mean of one participant's map and of all its permutations, in each cell."""
    # The observed map is among them: under the null it is one more permutation. A memory map is read in
    # pieces.
    total = np.array(observed, dtype=np.float64)
    step = max(1, VALUES_AT_ONCE // max(1, total.size))
    for first in range(0, len(permuted), step):
        total += permuted[first : first + step].sum(axis=0, dtype=np.float64)
    return np.asarray(total / (len(permuted) + 1))
