"""What travels between stages: epochs, and the features made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shortloop.span import Span
from shortloop.types import FloatArray, IntArray

__all__ = ["Epochs", "Features"]


@dataclass(frozen=True)
class Epochs:
    """Epoched recordings of one participant in one phase.

    Parameters
    ----------
    data : array of float, shape (trials, channels, samples)
        The signal, in `unit`.
    labels : array of int, shape (trials,)
        Index into `classes` of each trial.
    classes : tuple of str
        Names of the classes, in the order of the study file.
    times : array of float, shape (samples,)
        Time of each sample in seconds, 0 at the event.
    sfreq : float
        Sampling rate in Hz.
    channels : tuple of str
        Channel names.
    unit : str, default "V"
        Unit of `data`.
    trial_info : mapping of str to array, shape (trials, ...), optional
        Anything else known of each trial.
    accounts : tuple of mappings
        Of each file that was prepared here, plain data: what was recorded, done, and left out.
    positions : array of float, shape (channels, 3), optional
        Metres to the right, to the front and upwards, from between the ears; NaN where it is not known.
    """

    data: FloatArray
    labels: IntArray
    classes: tuple[str, ...]
    times: FloatArray
    sfreq: float
    channels: tuple[str, ...]
    unit: str = "V"
    trial_info: Mapping[str, np.ndarray] = field(default_factory=dict)
    accounts: tuple[Mapping[str, Any], ...] = ()
    positions: FloatArray | None = None


@dataclass(frozen=True)
class Features:
    """What the classifiers see of one participant in one phase.

    Parameters
    ----------
    data : array of float, shape (bins, trials, features)
        Features of each time bin. May be a read-only memory map.
    labels : array of int, shape (trials,)
        Index into `classes` of each trial.
    classes : tuple of str
        Names of the classes.
    times : array of float, shape (bins,)
        Centre of each bin in seconds, 0 at the event. NaN-free; bin numbers where the file names no times.
    names : tuple of str, length features
        What each feature is, e.g. ``"Cz 12 ms"`` or ``"Cz 10 Hz point 3"``.
    kind : str
        ``"amplitude"`` or ``"power"``.
    unit : str, default "V"
        Unit of `data`.
    time_unit : str, default "s"
        Unit of `times`; ``"bin"`` where the file names no times.
    runs : array of int, shape (trials,), optional
        File that each trial is from, where there are several.
    span : Span, optional
        Where `data` lie in the file that they came from, if they are a map of it and no copy.
    """

    data: FloatArray
    labels: IntArray
    classes: tuple[str, ...]
    times: FloatArray
    names: tuple[str, ...]
    kind: str
    unit: str = "V"
    time_unit: str = "s"
    runs: IntArray | None = None
    span: Span | None = None
