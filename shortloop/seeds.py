"""Random draws that depend on the study's seed and on what they are for, never on process state."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["seed_for"]


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
    return np.random.SeedSequence([seed, *np.frombuffer(digest, dtype="<u4").tolist()])
