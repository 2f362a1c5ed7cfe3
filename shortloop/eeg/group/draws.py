"""Draws under the null hypothesis: maps that were trained again, and flipped signs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shortloop.base.types import FloatArray, IntArray

__all__ = ["TRUE", "draw_rows", "drawn_maps", "own_level", "sign_flips"]

TRUE = 0
"""Number of a participant's true map; the others are numbered from 1."""


def draw_rows(participants: int, others: int, count: int, seed: np.random.SeedSequence) -> IntArray:
    """Which map each participant has in each null map of the group.

    Without information, a participant's true map is one of `others` + 1 that could stand in for each other,
    and the group's is one of (`others` + 1)^participants combinations. Random ones of these, with the true
    one added, give a p value that is at most alpha in at most alpha of all studies, however few `others` are
    (Hemerik & Goeman 2018, Exact testing with random permutations, TEST 27:811; the group is the one that
    turns each participant's maps around in a ring). That a few trainings of each participant make many null
    maps of the group is from Stelzer, Chen & Turner (2013, NeuroImage 65:69), who leave the true maps out.

    returns: int, (count, participants). `TRUE`, or 1 to `others`; each independent, and all equally probable.
    """
    return np.random.default_rng(seed).integers(0, others + 1, (count, participants))


def drawn_maps(observed: FloatArray, permuted: Sequence[FloatArray], rows: IntArray) -> list[FloatArray]:
    """The maps that were drawn.

    observed: float, (participants, \\*map). True maps.
    permuted: sequence of array of float, each of (others, \\*map). Those of shuffled labels, an array for
        each participant.
    rows: int, (draws, participants). From `draw_rows`.
    returns: list of array of float64, each of (draws, \\*map). One for each participant.
    """
    found = []
    for own, others, row in zip(observed, permuted, rows.T, strict=True):
        maps = np.empty((len(row), *own.shape))
        maps[row == TRUE] = own
        maps[row != TRUE] = others[row[row != TRUE] - 1]
        found.append(maps)
    return found


def sign_flips(
    participants: int, count: int, seed: np.random.SeedSequence | None = None
) -> tuple[FloatArray, bool]:
    """Signs for every null map: all there are if that is no more work, or random ones.

    Nichols & Holmes (2002), Nonparametric permutation tests for functional neuroimaging, Hum Brain Mapp 15
    (one-sample designs, "multi-subject PET"); Winkler et al. (2014), Permutation inference for the general
    linear model, NeuroImage 92 (sign flips).

    signs: float, (patterns, participants). 1 or -1.
    """
    if participants < 63 and 2**participants <= count + 1:
        patterns = np.arange(2**participants)[:, np.newaxis] >> np.arange(participants)
        return 1.0 - 2.0 * (patterns & 1), True
    if seed is None:
        raise ValueError("random sign flips need a seed")
    return 1.0 - 2.0 * np.random.default_rng(seed).integers(0, 2, (count, participants)), False


VALUES_AT_ONCE = 2**20


def own_level(observed: FloatArray, permuted: FloatArray) -> FloatArray:
    """Mean of one participant's map and of all its permutations, in each cell.

    The observed map is among them: under the null it is one more permutation, and a level that leaves it
    out would lie systematically farther from it than from the others.

    observed: float, (\\*map). Scores.
    permuted: float, (permutations, \\*map). The same under each permutation; may be a read-only memory map,
        it is read in pieces.
    returns: float64, (\\*map)
    """
    total = np.array(observed, dtype=np.float64)
    step = max(1, VALUES_AT_ONCE // max(1, total.size))
    for first in range(0, len(permuted), step):
        total += permuted[first : first + step].sum(axis=0, dtype=np.float64)
    return np.asarray(total / (len(permuted) + 1))
