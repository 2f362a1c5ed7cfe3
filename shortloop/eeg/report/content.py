"""The content of a report as plain records, so that a page can be written from any source of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.report.sensors import Positions
from shortloop.report.page import Source

WORDS = "words"  # key of the settings with the words of a methods section; see `Study.for_report`


@dataclass(frozen=True)
class Individual:
    """One participant, tested alone against its own permutations."""

    participant: str
    curve_p: float  # smallest, corrected by the maximum statistic
    plane_p: float | None
    permutations: int
    note: str  # limits of the test of the curve
    curve_ends: FloatArray  # (2, bins): ends of the interval over trials of the unsmoothed scores
    plane_ends: FloatArray | None  # (2, test bins, bins)
    level: float  # coverage of the intervals
    draws: int  # samples of trials for the intervals


@dataclass(frozen=True)
class Confusion:
    counts: FloatArray  # (classes, classes): trials; rows are the true class
    train_time: float
    test_time: float | None  # None: of the cross-validated curve


@dataclass(frozen=True)
class Patterns:
    """Selected features and activation patterns of classifiers."""

    kept: FloatArray  # (participants, bins): share of the features that folds kept
    features: int  # of a bin
    channels: tuple[str, ...]  # empty if features are of no channels
    kept_channels: FloatArray | None  # (bins, channels): share of each channel's, mean over participants
    patterns: FloatArray | None  # (bins, shown classes, channels), mean over participants; None: not linear
    shown: tuple[str, ...]  # classes whose patterns are shown: of two, the second
    unit: str  # of the features, and so of the patterns
    positions: Positions | None = None
    frequencies: FloatArray | None = None  # (frequencies,), Hz, of features of power
    of_frequencies: FloatArray | None = None  # patterns: (bins, shown classes, channels, frequencies)
    sensors: str = ""  # name of the type of sensors, if a study has several types
    parts: Mapping[str, Patterns] = field(default_factory=dict)  # by type of sensors, if there are several


@dataclass(frozen=True)
class Evoked:
    """Event-related potentials of all participants in one phase."""

    phase: str
    participants: tuple[str, ...]
    classes: tuple[str, ...]
    channels: tuple[str, ...]
    times: FloatArray  # (samples,), s
    means: FloatArray  # (participants, classes, channels, samples), over trials, in `unit`
    errors: FloatArray  # same shape: standard errors over trials
    unit: str
    trials: IntArray  # (participants, classes)
    baseline: tuple[float, float] | None  # start and stop of what was subtracted, s
    sources: tuple[Source, ...]
    name: str = ""  # of the type of sensors in file names, if a study has several types
    sensors: str = ""  # the same in words


@dataclass(frozen=True)
class KindResult:
    """All that the report shows of one kind of features."""

    kind: str  # "amplitude" or "power"
    participants: tuple[str, ...]  # in the order of the scores
    train_times: FloatArray  # (bins,): centres of training bins, in `time_unit`, increasing
    test_times: FloatArray | None  # (test bins,): of decoded bins; None: classifiers were not applied
    time_unit: str  # "s", or "bin" if recordings have no times
    curve: MapStatistics  # cross-validated decoding of the training phase
    generalization: MapStatistics | None  # decoding of the test phase by classifiers of each training bin
    sources: tuple[Source, ...]
    left_out: int  # folds without a model, as they kept no feature; over participants and bins
    train_phase: str
    test_phase: str
    classes: tuple[str, ...] = ()
    individual: tuple[Individual, ...] = ()
    confusions: tuple[Confusion, ...] = ()  # at the peak of the curve, and of the map if there is one
    patterns: Patterns | None = None
    smoothed: bool = True  # maps were smoothed before they were tested

    @property
    def peak(self) -> int:
        """Training bin of the largest mean score."""
        return int(np.nanargmax(self.curve.mean))

    @property
    def effect(self) -> tuple[int, int] | None:
        """First and last of the significant bins around the peak; None if it is not significant."""
        if not self.curve.significant[self.peak]:
            return None
        other = np.flatnonzero(~self.curve.significant)
        first = int(max(other[other < self.peak], default=-1)) + 1
        return first, int(min(other[other > self.peak], default=len(self.train_times))) - 1

    @property
    def maps(self) -> list[MapStatistics]:
        """Statistics of the curve, and of the map if there is one."""
        return [self.curve] if self.generalization is None else [self.curve, self.generalization]


@dataclass(frozen=True)
class ReportContent:
    study: str
    settings: dict[str, Any]  # the study file as plain data, and `WORDS`
    kinds: tuple[KindResult, ...]
    versions: dict[str, str]  # of libraries
    thread_note: str
    notes: tuple[str, ...] = ()  # of the import of recordings
    recordings: tuple[Mapping[str, Any], ...] = ()  # plain data of `RecordingSummary`, with its `warnings`
    evoked: tuple[Evoked, ...] = ()
