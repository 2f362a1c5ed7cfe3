"""Drawn null maps: of each participant the true map or one of a few that were trained again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shortloop.types import FloatArray, IntArray

__all__ = ["TRUE", "draw_rows", "drawn_maps"]

TRUE = 0
"""Number of a participant's true map; the others are numbered from 1."""


def draw_rows(participants: int, others: int, count: int, seed: np.random.SeedSequence) -> IntArray:
    """Which map each participant has in each null map of the group.

    Parameters
    ----------
    participants : int
        Number of participants.
    others : int
        Maps of each beside the true one: of labels that were shuffled before all was trained.
    count : int
        Number of null maps.
    seed : SeedSequence
        Of the draws.

    Returns
    -------
    array of int, shape (count, participants)
        `TRUE`, or 1 to `others`; each independent, and all equally probable.

    Notes
    -----
    Without information, a participant's true map is one of `others` + 1 that could stand in for each other,
    and the group's is one of (`others` + 1)^participants combinations. Random ones of these, with the true
    one added, give a p value that is at most alpha in at most alpha of all studies, however few `others` are
    (Hemerik & Goeman 2018, Exact testing with random permutations, TEST 27:811; the group is the one that
    turns each participant's maps around in a ring). That a few trainings of each participant make many null
    maps of the group is from Stelzer, Chen & Turner (2013, NeuroImage 65:69), who leave the true maps out.
    """
    return np.random.default_rng(seed).integers(0, others + 1, (count, participants))


def drawn_maps(observed: FloatArray, permuted: Sequence[FloatArray], rows: IntArray) -> list[FloatArray]:
    """The maps that were drawn.

    Parameters
    ----------
    observed : array of float, shape (participants, \\*map)
        True maps.
    permuted : sequence of array of float, each of shape (others, \\*map)
        Those of shuffled labels, an array for each participant.
    rows : array of int, shape (draws, participants)
        From `draw_rows`.

    Returns
    -------
    list of array of float64, each of shape (draws, \\*map)
        One for each participant.
    """
    found = []
    for own, others, row in zip(observed, permuted, rows.T, strict=True):
        maps = np.empty((len(row), *own.shape))
        maps[row == TRUE] = own
        maps[row != TRUE] = others[row[row != TRUE] - 1]
        found.append(maps)
    return found
