"""Features of every trial, one trial at a time: what lets the trials be shared out without a trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.features.bins import bin_centres
from shortloop.types import FloatArray, IntArray

__all__ = ["OneTrial", "features_per_trial"]

OneTrial = Callable[[FloatArray], FloatArray]


def features_per_trial(
    epochs: Epochs,
    indices: IntArray,
    names: tuple[str, ...],
    make: Callable[[], OneTrial],
    *,
    kind: str,
    unit: str,
    trials: slice | None = None,
    out: FloatArray | None = None,
) -> Features:
    """Run one function over the trials and gather the features.

    Parameters
    ----------
    epochs : Epochs
        The signal. Only the selected trials are read.
    indices : array of int, shape (bins, size)
        Samples of each bin.
    names : tuple of str, length features
        Name of each feature.
    make : callable
        Called once, if there are trials, for the function that turns one trial, float64 of shape
        (channels, samples), into its features, shape (bins, features). That function sees nothing but
        its trial, so how the trials are split cannot change a bit of the result.
    kind, unit : str
        Of the features.
    trials : slice, optional
        The trials to compute; default all.
    out : array of float, shape (bins, selected trials, features), optional
        Where to write; default a new C-contiguous float32 array.

    Returns
    -------
    Features
        Of the selected trials; its data is `out`.

    Raises
    ------
    ValueError
        When `out` has another shape.
    """
    chosen = range(*(trials or slice(None)).indices(len(epochs.labels)))
    shape = (len(indices), len(chosen), len(names))
    if out is None:
        out = np.empty(shape, dtype=np.float32)
    elif out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, the features need {shape}")
    if chosen:
        one_trial = make()
        for column, trial in enumerate(chosen):
            out[:, column] = one_trial(np.asarray(epochs.data[trial], dtype=np.float64))
    return Features(
        data=out,
        labels=np.asarray(epochs.labels)[trials or slice(None)],
        classes=epochs.classes,
        times=bin_centres(epochs.times, indices),
        names=names,
        kind=kind,
        unit=unit,
    )
