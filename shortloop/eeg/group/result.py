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

    Parameters
    ----------
    scores : array of float, shape (participants, \\*map)
        Observed scores, not smoothed.
    mean : array of float, shape (\\*map)
        Mean over participants of the smoothed scores.
    t : array of float, shape (\\*map)
        One-sample t of the smoothed scores against chance, `participants` − 1 degrees of freedom. With
        one participant: the z-score of its smoothed map in its own permutation distribution.
    p_max : array of float, shape (\\*map)
        Two-sided p, corrected for all cells by the distribution of the maximum statistic.
    p_cluster : array of float, shape (\\*map)
        Two-sided p, corrected by the distribution of the maximum cluster mass; 1 outside clusters.
    clusters : array of int, shape (\\*map)
        Number of the cluster of each cell, positive clusters from 1 up, negative from -1 down; 0: none.
    significant : array of bool, shape (\\*map)
        Cells of clusters with p_cluster of at most alpha.
    null_max, null_mass : array of float, shape (permutations,)
        The null distributions: largest |t| and largest cluster mass of each permutation.
    threshold : float
        |t| above which a cell can be in a cluster.
    chance : float
        Chance level, in the unit of the scores; where it differs, the mean of `expected`.
    alpha : float
        Family-wise error rate.
    level : str
        ``"group"``, or ``"participant"`` when there is only one.
    note : str
        What these statistics cannot say; empty when there is nothing to add.
    expected : array of float, shape (\\*map), or None
        Mean over participants of the chance level, where it differs between cells; None: `chance`.
    score : str
        What the scores are: ``"balanced-accuracy"`` or ``"accuracy"``, percent; ``"auc"``, 0 to 1.
    null : str
        What the null maps are, one of `shortloop.eeg.group.null.NULLS`.
    error_rate : str
        What is known of the rate at which that calls noise significant; empty where it is `alpha`.
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
