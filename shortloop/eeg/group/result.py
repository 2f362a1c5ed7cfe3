"""What the group stage says of one kind of map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortloop.eeg.group.null import NullName
from shortloop.eeg.score import Score

__all__ = ["MapStatistics"]

FloatArray = NDArray[np.floating]


@dataclass(frozen=True)
class MapStatistics:
    """Statistics of one kind of map over participants; a map is a curve over bins or a plane.

    scores: float, (participants, \\*map). Observed scores, not smoothed.
    mean: float, (\\*map). Mean over participants of the smoothed scores.
    t: float, (\\*map). One-sample t of the smoothed scores against chance, `participants` − 1 degrees of
        freedom. With one participant: the z-score of its smoothed map in its own permutation distribution.
    p_max: float, (\\*map). Two-sided p, corrected for all cells by the distribution of the maximum statistic.
    p_cluster: float, (\\*map). Two-sided p, corrected by the distribution of the maximum cluster mass; 1
        outside clusters.
    clusters: int, (\\*map). Number of the cluster of each cell, positive clusters from 1 up, negative from -1
        down; 0: none.
    significant: bool, (\\*map). Cells of clusters with p_cluster of at most alpha.
    null_max, null_mass: float, (permutations,). The null distributions: largest |t| and largest cluster mass
        of each permutation.
    threshold: |t| above which a cell can be in a cluster.
    chance: chance level, in the unit of the scores; where it differs, the mean of `expected`.
    alpha: Family-wise error rate.
    level: ``"group"``, or ``"participant"`` when there is only one.
    note: what these statistics cannot say; empty when there is nothing to add.
    expected: float, (\\*map), or None. Mean over participants of the chance level, where it differs between
        cells; None: `chance`.
    score: what the scores are: ``"balanced-accuracy"`` or ``"accuracy"``, percent; ``"auc"``, 0 to 1.
    null: what the null maps are, one of `shortloop.eeg.group.null.NULLS`.
    error_rate: what is known of the rate at which that calls noise significant; empty where it is `alpha`.
    """

    scores: FloatArray
    mean: FloatArray
    t: FloatArray
    p_max: FloatArray
    p_cluster: FloatArray
    clusters: NDArray[np.integer]
    significant: NDArray[np.bool_]
    null_max: FloatArray
    null_mass: FloatArray
    threshold: float
    chance: float
    alpha: float
    level: str = "group"
    note: str = ""
    expected: FloatArray | None = None
    score: Score = "balanced-accuracy"
    null: NullName = ""
    error_rate: str = ""

    @property
    def level_of_chance(self) -> FloatArray:
        """Chance level of each cell, mean over participants."""
        return np.full(self.mean.shape, self.chance) if self.expected is None else self.expected
