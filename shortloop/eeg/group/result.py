"""Statistics of one kind of map over participants."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.group.settings import NullName
from shortloop.eeg.score import Score


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
