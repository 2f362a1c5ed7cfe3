"""Epochs to power features: Morlet wavelet power in time bins."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Features: Morlet wavelet power in time bins"
depend_extra = code_of(__file__)
options: dict[str, Any] = {"partition": "", "settings": {}, "phases": []}
jobs = ("epochs",)


def prepare() -> Any:
    from shortloop.eeg.features.power import power_features
    from shortloop.eeg.stages.feature_stage import FeatureStage
    from shortloop.eeg.study.features import PowerSettings

    settings = PowerSettings.model_validate(options["settings"])
    return FeatureStage(jobs.epochs.path, options["phases"], power_features, settings)  # type: ignore[attr-defined]


def analysis(sliceno: int, prepare_res: Any) -> Any:
    return prepare_res.compute()


def synthesis(prepare_res: Any, analysis_res: Any) -> None:
    from shortloop.worker.threads import threads_of

    prepare_res.finish("power", options["partition"], threads_of(analysis_res))
