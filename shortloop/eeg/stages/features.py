"""Base of the stages that compute features: a unit is a few trials of one phase."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from shortloop.eeg.stages.feature_files import feature_axes, finish_features, load_epochs
from shortloop.stages.stage import Arrays, Finished, Index, Job, Out, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.eeg.data import Epochs, Features

TRIALS_PER_UNIT = 10


class FeatureStage(Stage):
    """Features of one participant."""

    phases: list[str]
    epochs: Job

    @abstractmethod
    def of_trials(self, epochs: Epochs, trials: slice) -> Features:
        """Features of some trials."""

    def open(self) -> None:
        """Map the epochs, and compute one trial of each phase, which gives the shape."""
        self._epochs = {phase: load_epochs(self.epochs, phase) for phase in self.phases}
        self._first = {phase: self.of_trials(each, slice(0, 1)) for phase, each in self._epochs.items()}
        self._parts = [
            (phase, slice(first, first + TRIALS_PER_UNIT))
            for phase, each in self._epochs.items()
            for first in range(0, len(each.labels), TRIALS_PER_UNIT)
        ]

    def units(self) -> int:
        return len(self._parts)

    def outputs(self) -> dict[str, Out]:
        outs = {}
        for phase, first in self._first.items():
            shape = (len(first.times), len(self._epochs[phase].labels), len(first.names))
            axes, said = feature_axes(phase), f"features of the {phase} phase"
            outs[f"data_{phase}"] = Out(shape, "f4", axes, said, first.unit)
        return outs

    def index(self, unit: int) -> Mapping[str, Index]:
        phase, trials = self._parts[unit]
        return {f"data_{phase}": (slice(None), trials)}

    def compute(self, unit: int) -> Arrays:
        phase, trials = self._parts[unit]
        return {f"data_{phase}": self.of_trials(self._epochs[phase], trials).data}

    def finish(self, out: Outputs) -> Finished:
        features = {}
        for phase, first in self._first.items():
            epochs = self._epochs[phase]
            runs = epochs.trial_info.get("file")
            several = None if runs is None or (runs == runs[0]).all() else runs
            features[phase] = replace(first, labels=epochs.labels, runs=several)
        return finish_features(features, {})
