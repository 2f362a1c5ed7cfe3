"""What a report shows beside statistics of the group: participants alone, classifiers, the signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.report.positions import Measured
from shortloop.report.provenance import Source
from shortloop.types import FloatArray

__all__ = ["Alone", "Confusion", "Evoked", "Patterns"]


@dataclass(frozen=True)
class Alone:
    """One participant, tested alone against its own permutations.

    Parameters
    ----------
    participant : str
    curve : MapStatistics, map of shape (bins,)
    plane : MapStatistics, map of shape (test bins, bins), or None
    curve_ends : array of float, shape (2, bins)
        Lower and upper end of the interval over trials of the curve's scores, not smoothed.
    plane_ends : array of float, shape (2, test bins, bins), or None
        The same of the map.
    level : float
        Coverage of the intervals.
    draws : int
        How often trials were drawn for them.
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

    Parameters
    ----------
    counts : array of float, shape (classes, classes)
        Trials; rows are the true class.
    train_bin : int
    test_bin : int or None
        None: of the cross-validated curve.
    """

    counts: FloatArray
    train_bin: int
    test_bin: int | None


@dataclass(frozen=True)
class Patterns:
    """What classifiers go by.

    Parameters
    ----------
    kept : array of float, shape (participants, bins)
        Share of the features that folds kept.
    features : int
        Features of a bin.
    channels : tuple of str
        Empty where features are of no channels.
    kept_channels : array of float, shape (bins, channels), or None
        The share of each channel's features, mean over participants.
    patterns : array of float, shape (bins, shown classes, channels), or None
        Activation patterns, mean over participants; None where classifiers are not linear.
    shown : tuple of str
        Classes whose patterns are shown: of two, the second.
    unit : str
        Unit of the features, and so of the patterns.
    measured : Measured, optional
        Positions of the channels, if recordings have them.
    frequencies : array of float, shape (frequencies,), optional
        Of features of power, Hz.
    of_frequencies : array of float, shape (bins, shown classes, channels, frequencies), optional
        Their patterns, mean over participants.
    sensors : str, optional
        What the channels are, where a study has sensors of several types.
    parts : mapping of str to Patterns
        The same of the sensors of each type, where there are several.
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

    Parameters
    ----------
    phase : str
    participants, classes, channels : tuple of str
    times : array of float, shape (samples,)
        Seconds.
    means : array of float, shape (participants, classes, channels, samples)
        Mean over trials, in `unit`.
    errors : array of float, same shape
        Its standard error over trials.
    unit : str
    trials : array of int, shape (participants, classes)
        How many trials there were.
    baseline : tuple of float or None
        What was subtracted, s.
    sources : tuple of Source
        Where the numbers come from.
    name, sensors : str, optional
        Which sensors, where a study has some of several types: of files, and in words.
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
