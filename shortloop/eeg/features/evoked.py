"""Event-related potentials: the mean of trials, and how sure it is."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.data import Epochs

__all__ = ["mean_and_error"]


def mean_and_error(
    epochs: Epochs, label: int, baseline: slice | None = None
) -> tuple[FloatArray, FloatArray]:
    """Mean over the trials of a class, and its standard error.

    mean, error: float, (channels, samples). In the unit of the epochs.
    """
    trials = np.flatnonzero(epochs.labels == label)
    shape = epochs.data.shape[1:]
    if not len(trials):
        return np.full(shape, np.nan), np.full(shape, np.nan)
    x = np.asarray(epochs.data[trials], dtype=np.float64)
    if baseline is not None:
        x = x - x[:, :, baseline].mean(axis=2, keepdims=True)
    if len(trials) < 2:
        return x.mean(axis=0), np.full(shape, np.nan)
    return x.mean(axis=0), x.std(axis=0, ddof=1) / np.sqrt(len(trials))
