"""Random seeds derived from the study's seed and the purpose of the draw."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_for(seed: int, *names: str | int) -> np.random.SeedSequence:
    """Seed sequence of one purpose of one study.

    Parameters
    ----------
    seed : int
        The study's seed.
    *names : str or int
        What the draws are for, e.g. ``"permute", "S01"``. Different names give independent streams.

    Returns
    -------
    numpy.random.SeedSequence
    """
    text = "\0".join(f"{type(name).__name__}:{name}" for name in names)
    digest = hashlib.sha256(text.encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").astype(np.uint32, copy=False)
    if not 0 <= seed < 2**32:
        return np.random.SeedSequence([seed, *words.tolist()])
    return np.random.SeedSequence(np.append(np.uint32(seed), words))  # the same, without a list of numbers
