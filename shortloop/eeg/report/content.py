"""What a report is made of: plain records, so that a page can be written from any source of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray
from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.report.details import Alone, Confusion, Evoked, Patterns
from shortloop.report.provenance import Source

__all__ = ["WORDS", "KindResult", "ReportContent"]

WORDS = "words"
"""Key of the settings with what they are called in a methods section; see `Study.for_report`."""


@dataclass(frozen=True)
class KindResult:
    """Everything the report shows of one kind of features.

    kind: ``"amplitude"`` or ``"power"``.
    participants: Names, in the order of the scores.
    train_times: float, (bins,). Centres of the training bins, in `time_unit`, increasing.
    test_times: float, (test bins,), or None. Centres of the decoded bins; None where nothing was decoded by
        the trained classifiers.
    time_unit: ``"s"``, or ``"bin"`` where the recordings name no times.
    curve: Cross-validated decoding of the training phase.
    generalization: decoding of the test phase by the classifiers of each training bin.
    sources: where the numbers come from.
    left_out: number of folds that kept no feature and gave no model, over all participants and bins.
    train_phase, test_phase: names of the phases.
    classes: names of the classes.
    alone: each participant, tested alone.
    confusions: at the peak of the curve, and of the map if there is one.
    patterns: what classifiers go by.
    smoothed: whether maps were smoothed before they were tested.
    """

    kind: str
    participants: tuple[str, ...]
    train_times: FloatArray
    test_times: FloatArray | None
    time_unit: str
    curve: MapStatistics
    generalization: MapStatistics | None
    sources: tuple[Source, ...]
    left_out: int
    train_phase: str
    test_phase: str
    classes: tuple[str, ...] = ()
    alone: tuple[Alone, ...] = ()
    confusions: tuple[Confusion, ...] = ()
    patterns: Patterns | None = None
    smoothed: bool = True

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

    def __post_init__(self) -> None:
        bins = (len(self.train_times),)
        _check("curve", self.curve, len(self.participants), bins)
        _check_increasing("train_times", self.train_times)
        if self.generalization is not None:
            if self.test_times is None:
                raise ValueError(f"{self.kind}: a generalization map without test_times")
            _check_increasing("test_times", self.test_times)
            plane = (len(self.test_times), *bins)
            _check("generalization", self.generalization, len(self.participants), plane)


@dataclass(frozen=True)
class ReportContent:
    """A whole report.

    study: name of the study.
    settings: the study file as plain data, and `WORDS`.
    kinds: one for each kind of features.
    versions: versions of the libraries that the report was made with.
    thread_note: what was found of the number of threads where the work ran; may be empty.
    notes: what was noticed of the recordings when they were imported.
    recordings: what is known of each, as the import left it: plain data of `RecordingSummary`, and its
        `warnings`.
    evoked: Event-related potentials, of each phase.
    """

    study: str
    settings: dict[str, Any]
    kinds: tuple[KindResult, ...]
    versions: dict[str, str]
    thread_note: str
    notes: tuple[str, ...] = ()
    recordings: tuple[Mapping[str, Any], ...] = ()
    evoked: tuple[Evoked, ...] = ()


def _check(name: str, stats: MapStatistics, participants: int, shape: tuple[int, ...]) -> None:
    if stats.scores.shape != (participants, *shape):
        raise ValueError(f"{name}: scores of shape {stats.scores.shape}, expected {(participants, *shape)}")
    for field in ("mean", "t", "p_max", "p_cluster", "clusters", "significant"):
        found = getattr(stats, field).shape
        if found != shape:
            raise ValueError(f"{name}: {field} of shape {found}, expected {shape}")


def _check_increasing(name: str, times: FloatArray) -> None:
    if times.ndim != 1 or times.size == 0 or not bool((times[1:] > times[:-1]).all()):
        raise ValueError(f"{name}: expected increasing times, found {times!r}")
