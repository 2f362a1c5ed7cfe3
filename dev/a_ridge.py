"""A model stage in development: ridge classification over time, cross-validated.

Copy this file and build_ridge.py, give both a name of their own, and edit. Only what is edited runs again.
"""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "In development: ridge classifier for each bin, cross-validated"
depend_extra = code_of(__file__)
options: dict[str, Any] = {"partition": "", "phase": "", "folds": 10, "seed": 0, "alpha": 100.0}
jobs = ("features",)


def prepare() -> Any:
    import numpy as np
    import sklearn.linear_model  # noqa: F401  imported once, shared by the slices

    from shortloop.eeg.decoding.selection.folds import stratified_folds
    from shortloop.eeg.stages.feature_files import load_features
    from shortloop.engines.units import Units
    from shortloop.worker.records import create_array
    from shortloop.worker.results import open_result

    features = load_features(open_result(jobs.features.path), options["phase"])  # type: ignore[attr-defined]
    folds = stratified_folds(features.labels, options["folds"], options["seed"])
    predicted = create_array("predicted", features.data.shape[:2], np.int8)
    return features, folds, predicted, Units(len(features.data))


def analysis(sliceno: int, prepare_res: Any) -> Any:
    from sklearn.linear_model import RidgeClassifier

    from shortloop.eeg.decoding.selection.scaling import moments
    from shortloop.worker.threads import check_single_thread

    features, folds, predicted, units = prepare_res
    for unit in units:  # a time bin
        x = features.data[unit]
        for fold in range(options["folds"]):
            test = folds == fold
            mean, std = moments(x[~test])
            model = RidgeClassifier(alpha=options["alpha"])
            model.fit((x[~test] - mean) / std, features.labels[~test])
            predicted[unit, test] = model.predict((x[test] - mean) / std)
    return check_single_thread() if units.had_last else None


def synthesis(prepare_res: Any, analysis_res: Any) -> None:
    from shortloop.eeg.decoding.apply import cross_validated_votes
    from shortloop.eeg.decoding.metrics.scores import recall_scores
    from shortloop.worker.records import Array, save_array, write_record
    from shortloop.worker.threads import threads_of

    features, _, predicted, _ = prepare_res
    votes = cross_validated_votes(predicted, len(features.classes))
    save_array("scores", recall_scores(votes, features.labels[None])[0])
    save_array("times", features.times)
    write_record(
        "ridge",
        options["partition"],
        {
            "scores": Array("bins", "cross-validated mean recall", "%"),
            "predicted": Array("bins × trials", "class predicted by the fold that held the trial out"),
            "times": Array("bins", "centre of each bin, 0 at the event", features.time_unit),
        },
        threads=threads_of(analysis_res),
    )
