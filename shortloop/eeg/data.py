"""What travels between stages: epochs, and the features made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from shortloop.base.mapped_array import Span
from shortloop.base.types import FloatArray, IntArray

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Epochs", "Features"]


@dataclass(frozen=True)
class Epochs:
    """Epoched recordings of one participant in one phase.

    data: float, (trials, channels, samples). The signal, in `unit`.
    labels: int, (trials,). Index into `classes` of each trial.
    classes: names of the classes, in the order of the study file.
    times: float, (samples,). Time of each sample in seconds, 0 at the event.
    sfreq: sampling rate in Hz.
    channels: channel names.
    unit: unit of `data`.
    trial_info: mapping of str to array, (trials, ...), optional. Anything else known of each trial.
    accounts: of each file that was prepared here, plain data: what was recorded, done, and left out.
    positions: float, (channels, 3), optional. Metres to the right, to the front and upwards, from between the
        ears; NaN where it is not known.
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

    data: float, (bins, trials, features). Features of each time bin. May be a read-only memory map.
    labels: int, (trials,). Index into `classes` of each trial.
    classes: names of the classes.
    times: float, (bins,). Centre of each bin in seconds, 0 at the event. NaN-free; bin numbers where the file
        names no times.
    names: what each feature is, e.g. ``"Cz 12 ms"`` or ``"Cz 10 Hz point 3"``.
    kind: ``"amplitude"`` or ``"power"``.
    unit: unit of `data`.
    time_unit: unit of `times`; ``"bin"`` where the file names no times.
    runs: int, (trials,), optional. File that each trial is from, where there are several.
    span: where `data` lie in the file that they came from, if they are a map of it and no copy.
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
