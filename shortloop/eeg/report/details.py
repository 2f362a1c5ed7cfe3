"""What a report shows beside statistics of the group: participants alone, classifiers, the signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shortloop.base.types import FloatArray
from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.report.positions import Measured
from shortloop.report.provenance import Source

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Alone", "Confusion", "Evoked", "Patterns"]


@dataclass(frozen=True)
class Alone:
    """One participant, tested alone against its own permutations.

    curve_ends: float, (2, bins). Lower and upper end of the interval over trials of the curve's scores, not
        smoothed.
    plane_ends: float, (2, test bins, bins), or None. The same of the map.
    level: coverage of the intervals.
    draws: how often trials were drawn for them.
    """

    participant: str
    curve: MapStatistics
    plane: MapStatistics | None
    curve_ends: FloatArray
    plane_ends: FloatArray | None
    level: float
    draws: int


@dataclass(frozen=True)
class Confusion:
    """Confusions at one cell, summed over participants.

    counts: float, (classes, classes). Trials; rows are the true class.
    test_bin: None: of the cross-validated curve.
    """

    counts: FloatArray
    train_bin: int
    test_bin: int | None


@dataclass(frozen=True)
class Patterns:
    """What classifiers go by.

    kept: float, (participants, bins). Share of the features that folds kept.
    features: features of a bin.
    channels: empty where features are of no channels.
    kept_channels: float, (bins, channels), or None. The share of each channel's features, mean over
        participants.
    patterns: float, (bins, shown classes, channels), or None. Activation patterns, mean over participants;
        None where classifiers are not linear.
    shown: classes whose patterns are shown: of two, the second.
    unit: unit of the features, and so of the patterns.
    measured: positions of the channels, if recordings have them.
    frequencies: float, (frequencies,), optional. Of features of power, Hz.
    of_frequencies: float, (bins, shown classes, channels, frequencies), optional. Their patterns, mean over
        participants.
    sensors: what the channels are, where a study has sensors of several types.
    parts: the same of the sensors of each type, where there are several.
    """

    kept: FloatArray
    features: int
    channels: tuple[str, ...]
    kept_channels: FloatArray | None
    patterns: FloatArray | None
    shown: tuple[str, ...]
    unit: str
    measured: Measured | None = None
    frequencies: FloatArray | None = None
    of_frequencies: FloatArray | None = None
    sensors: str = ""
    parts: Mapping[str, Patterns] = field(default_factory=dict)


@dataclass(frozen=True)
class Evoked:
    """Event-related potentials of all participants in one phase.

    times: float, (samples,). Seconds.
    means: float, (participants, classes, channels, samples). Mean over trials, in `unit`.
    errors: float, same shape. Its standard error over trials.
    trials: int, (participants, classes). How many trials there were.
    baseline: what was subtracted, s.
    sources: where the numbers come from.
    name, sensors: which sensors, where a study has some of several types: of files, and in words.
    """

    phase: str
    participants: tuple[str, ...]
    classes: tuple[str, ...]
    channels: tuple[str, ...]
    times: FloatArray
    means: FloatArray
    errors: FloatArray
    unit: str
    trials: np.ndarray
    baseline: tuple[float, float] | None
    sources: tuple[Source, ...]
    name: str = ""
    sensors: str = ""
