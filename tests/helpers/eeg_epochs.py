"""Epochs of random walks."""

from __future__ import annotations

import numpy as np

from shortloop.eeg.data import Epochs


def make_epochs(
    trials: int = 6,
    channels: int = 3,
    samples: int = 2048,
    *,
    sfreq: float = 512.0,
    tmin: float = -1.5,
    seed: int = 0,
) -> Epochs:
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.standard_normal((trials, channels, samples)), axis=2)
    return Epochs(
        data=1e-6 * (drift + 50 * rng.standard_normal((trials, channels, 1))),
        labels=np.arange(trials) % 2,
        classes=("face", "object"),
        times=tmin + np.arange(samples) / sfreq,
        sfreq=sfreq,
        channels=tuple(f"E{number}" for number in range(channels)),
    )
