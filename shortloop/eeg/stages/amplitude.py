"""Epochs to amplitude features: the low-passed signal in time bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.stages.features import FeatureStage

if TYPE_CHECKING:
    from shortloop.eeg.data import Epochs, Features
    from shortloop.eeg.features.settings import AmplitudeSettings


class Amplitude(FeatureStage):
    """Features: baseline-corrected, low-passed amplitude in time bins."""

    settings: AmplitudeSettings

    def of_trials(self, epochs: Epochs, trials: slice) -> Features:
        from shortloop.eeg.features.amplitude import amplitude_features

        who = self.epochs.partition or ""
        return amplitude_features(epochs, self.settings, trials=trials, participant=who)
