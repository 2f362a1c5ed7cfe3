"""Sign flips: which participants' differences from chance are mirrored in each null map."""

from __future__ import annotations

import numpy as np

from shortloop.types import FloatArray

__all__ = ["sign_flips"]


def sign_flips(
    participants: int, count: int, seed: np.random.SeedSequence | None = None
) -> tuple[FloatArray, bool]:
    """Signs for every null map: all there are if that is no more work, or random ones.

    Parameters
    ----------
    participants : int
        Number of participants.
    count : int
        Number of random patterns.
    seed : SeedSequence, optional
        Needed unless all patterns are used.

    Returns
    -------
    signs : array of float, shape (patterns, participants)
        1 or -1. All 2^participants patterns, the observed one (all 1) first, if there are no more of them
        than `count` + 1; else `count` random ones, each sign independent and fair.
    exact : bool
        Whether these are all patterns, the observed one among them.

    Raises
    ------
    ValueError
        If random patterns are needed and there is no seed.

    References
    ----------
    Nichols & Holmes (2002), Nonparametric permutation tests for functional neuroimaging, Hum Brain Mapp 15
    (one-sample designs, "multi-subject PET"); Winkler et al. (2014), Permutation inference for the general
    linear model, NeuroImage 92 (sign flips).
    """
    if participants < 63 and 2**participants <= count + 1:
        patterns = np.arange(2**participants)[:, np.newaxis] >> np.arange(participants)
        return 1.0 - 2.0 * (patterns & 1), True
    if seed is None:
        raise ValueError("random sign flips need a seed")
    return 1.0 - 2.0 * np.random.default_rng(seed).integers(0, 2, (count, participants)), False
