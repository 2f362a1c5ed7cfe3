"""The level of chance where theory names none: what each participant's own null says."""

from __future__ import annotations

import numpy as np

from shortloop.types import FloatArray

__all__ = ["own_level"]

VALUES_AT_ONCE = 2**20


def own_level(observed: FloatArray, permuted: FloatArray) -> FloatArray:
    """Mean of one participant's map and of all its permutations, in each cell.

    The observed map is among them: under the null it is one more permutation, and a level that leaves it
    out would lie systematically farther from it than from the others.

    Parameters
    ----------
    observed : array of float, shape (\\*map)
        Scores.
    permuted : array of float, shape (permutations, \\*map)
        The same under each permutation; may be a read-only memory map, it is read in pieces.

    Returns
    -------
    array of float64, shape (\\*map)
    """
    total = np.array(observed, dtype=np.float64)
    step = max(1, VALUES_AT_ONCE // max(1, total.size))
    for first in range(0, len(permuted), step):
        total += permuted[first : first + step].sum(axis=0, dtype=np.float64)
    return np.asarray(total / (len(permuted) + 1))
