"""Features of every trial, one trial at a time: what lets the trials be shared out without a trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.features.bins import bin_centres

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

    indices: int, (bins, size). Samples of each bin.
    out: float, (bins, selected trials, features). Where to write; default a new C-contiguous float32 array.
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
