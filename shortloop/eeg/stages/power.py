"""Epochs to power features: Morlet wavelet power in time bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.stages.features import FeatureStage

if TYPE_CHECKING:
    from shortloop.eeg.data import Epochs, Features
    from shortloop.eeg.features.settings import PowerSettings


class Power(FeatureStage):
    """Features: Morlet wavelet power in time bins."""

    settings: PowerSettings

    def of_trials(self, epochs: Epochs, trials: slice) -> Features:
        from shortloop.eeg.features.power import power_features

        return power_features(epochs, self.settings, trials=trials, participant=self.epochs.partition or "")
