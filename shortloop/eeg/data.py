"""Records that pass between stages: epochs, and the features made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray, IntArray, Span


@dataclass(frozen=True)
class Epochs:
    """Epoched recordings of one participant in one phase."""

    data: FloatArray  # (trials, channels, samples), in `unit`
    labels: IntArray  # (trials,), indices into `classes`
    classes: tuple[str, ...]  # in the order of the study file
    times: FloatArray  # (samples,), s, 0 at the event
    sfreq: float  # sampling rate, Hz
    channels: tuple[str, ...]
    unit: str = "V"
    trial_info: Mapping[str, np.ndarray] = field(default_factory=dict)  # anything else, each (trials, ...)
    accounts: tuple[Mapping[str, Any], ...] = ()
    """Plain data about each file that was prepared here: what was recorded, done, and left out."""
    positions: FloatArray | None = None
    """(channels, 3), metres to the right, to the front and upwards, from between the ears; NaN: unknown."""


@dataclass(frozen=True)
class Features:
    """Input of the classifiers of one participant in one phase."""

    data: FloatArray  # (bins, trials, features); may be a read-only memory map
    labels: IntArray  # (trials,), indices into `classes`
    classes: tuple[str, ...]
    times: FloatArray  # (bins,), centres, s; numbers of bins where the file names no times
    names: tuple[str, ...]  # of features, e.g. "Cz 12 ms" or "Cz 10 Hz point 3"
    kind: str  # "amplitude" or "power"
    unit: str = "V"  # of `data`
    time_unit: str = "s"  # "bin" where the file names no times
    runs: IntArray | None = None  # (trials,), number of the file of each trial, if there are several
    span: Span | None = None  # place of `data` in its file, if it is a map of it and no copy


def mean_positions(every: Sequence[FloatArray | None]) -> FloatArray | None:
    """Average positions of the same channels, each over the recordings that know it."""
    known = [each for each in every if each is not None]
    return mean_of_known(np.stack(known)) if known else None


def mean_of_known(values: FloatArray) -> FloatArray:
    """Mean along the first axis, ignoring NaN; NaN only if all are."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))
