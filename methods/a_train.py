"""Features of the training phase to classifiers of every bin and fold, and cross-validated predictions."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Train: a classifier for each bin and fold, and its predictions of held-out trials"
depend_extra = code_of(__file__)
options: dict[str, Any] = {
    "partition": "",
    "phase": "",
    "seed": 0,  # of the folds
    "decoding": {},
    "decisions": False,  # whether they are kept, beside the predicted classes
    "estimator": {},
}
jobs = ("features",)


def prepare(job: Any) -> Any:
    import numpy as np
    from pydantic import TypeAdapter

    from shortloop.eeg.decoding.estimators import is_linear
    from shortloop.eeg.decoding.metrics.decisions import check_decisions
    from shortloop.eeg.decoding.selection.folds import stratified_folds
    from shortloop.eeg.decoding.train import warm_up
    from shortloop.eeg.stages.feature_files import load_features
    from shortloop.eeg.study.decoding import DecodingSettings, EstimatorSettings
    from shortloop.engines.checkpoints import Checkpoint
    from shortloop.errors import InputError
    from shortloop.worker.records import reject, save_array
    from shortloop.worker.results import open_result

    features = load_features(open_result(jobs.features.path), options["phase"])  # type: ignore[attr-defined]
    decoding = DecodingSettings.model_validate(options["decoding"])
    estimator: Any = TypeAdapter(EstimatorSettings).validate_python(options["estimator"])
    try:
        warm_up(estimator)
        if options["decisions"]:
            check_decisions(estimator, len(features.classes))
    except InputError as error:
        reject("train", options["partition"], error)
        job.finish_early()
    folds = stratified_folds(features.labels, decoding.folds, options["seed"])
    save_array("folds", folds)
    n_bins, n_trials, n_features = features.data.shape
    n_classes = len(features.classes)
    bins = Checkpoint(n_bins)
    out = {
        "predicted": bins.create_array("predicted", (n_bins, n_trials), np.int8),
        "kept": bins.create_array("kept", (n_bins, decoding.folds, n_features), bool),
        "C": bins.create_array("C", (n_bins, decoding.folds), np.float64),
    }
    if options["decisions"]:
        out["decisions"] = bins.create_array("decisions", (n_bins, n_trials, n_classes), np.float64)
    if is_linear(estimator):
        shape = (n_bins, decoding.folds, n_classes)
        out["weights"] = bins.create_array("weights", (*shape, n_features), np.float64)
        out["intercepts"] = bins.create_array("intercepts", shape, np.float64)
    bins.start()
    return features, folds, decoding, estimator, out, bins


def analysis(sliceno: int, prepare_res: Any) -> Any:
    import dataclasses

    from shortloop.eeg.decoding.train import train_bin
    from shortloop.worker.threads import check_single_thread

    features, folds, decoding, estimator, out, bins = prepare_res
    for unit in bins:
        models = train_bin(
            features.data[unit],
            features.labels,
            folds,
            n_classes=len(features.classes),
            decoding=decoding,
            estimator=estimator,
            decisions=options["decisions"],
        )
        for field in dataclasses.fields(models):
            if field.name in out:
                out[field.name][unit] = getattr(models, field.name)
    return check_single_thread() if bins.had_last else None


def synthesis(prepare_res: Any, analysis_res: Any) -> None:
    from shortloop.eeg.decoding.apply import cross_validated_votes
    from shortloop.eeg.decoding.metrics.scores import confusions
    from shortloop.worker.records import Array, save_array, write_record
    from shortloop.worker.threads import threads_of

    features, _, decoding, estimator, out, bins = prepare_res
    bins.finish()
    votes = cross_validated_votes(out["predicted"], len(features.classes))
    save_array("confusions", confusions(votes, features.labels))
    save_array("labels", features.labels)
    save_array("times", features.times)
    unit = features.time_unit
    arrays = {
        "confusions": Array("bins × true class × predicted class", "held-out trials of all folds", "trials"),
        "predicted": Array("bins × trials", "class predicted by the fold that held the trial out; -1: none"),
        "decisions": Array(
            "bins × trials × classes",
            "decision for each class, the larger the likelier, by the fold that held it out; NaN: none",
        ),
        "folds": Array("trials", "fold that holds out each trial"),
        "labels": Array("trials", "class of each trial, an index into the classes"),
        "times": Array("bins", "centre of each bin, 0 at the event", unit),
        "kept": Array("bins × folds × features", "features that the ANOVA kept"),
        "C": Array("bins × folds", "chosen C; NaN where none was chosen"),
        "weights": Array("bins × folds × classes × features", "weights; 0 where a feature is not kept"),
        "intercepts": Array("bins × folds × classes", "intercepts"),
    }
    if "weights" not in out:  # of estimators whose decisions are no weights times features
        del arrays["weights"], arrays["intercepts"]
    if "decisions" not in out:
        del arrays["decisions"]
    write_record(
        "train",
        options["partition"],
        arrays,
        facts={
            "classes": list(features.classes),
            "kind": features.kind,
            "phase": options["phase"],
            "time_unit": unit,
            "left_out": int((~out["kept"].any(axis=2)).sum()),  # folds that kept no feature
            # What applies or retrains the classifiers reads it here, and not in the options.
            "decoding": decoding.model_dump(mode="json", exclude={"score"}),
            "estimator": estimator.model_dump(mode="json"),
        },
        threads=threads_of(analysis_res),
    )
