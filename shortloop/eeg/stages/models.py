"""How the classifiers of a training job were trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.settings import DecodingSettings

if TYPE_CHECKING:
    from shortloop.stages.results import Result

__all__ = ["settings_of"]


def settings_of(models: Result) -> tuple[DecodingSettings, EstimatorSettings]:
    """How the classifiers of a job were trained."""
    facts = models.facts
    estimator = EstimatorSettings.model_validate(facts["estimator"])
    return DecodingSettings.model_validate(facts["decoding"]), estimator
