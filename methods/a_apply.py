"""Classifiers of every training bin on every bin of the decoded phase: temporal generalization."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.code import code_of

description = "Apply: all classifiers on all bins of the decoded phase"
depend_extra = code_of(__file__)
options: dict[str, Any] = {"participant": "", "phase": ""}
jobs = ("features", "models")


def prepare() -> Any:
    import numpy as np
    from pydantic import TypeAdapter

    from shortloop.decoding.apply import stack_weights
    from shortloop.decoding.train import warm_up
    from shortloop.engines.units import Units
    from shortloop.jobs.records import create_array
    from shortloop.jobs.results import open_result
    from shortloop.jobs.stage_files import load_features
    from shortloop.study.decoding import DecodingSettings, EstimatorSettings

    source, models = open_result(jobs.features.path), open_result(jobs.models.path)  # type: ignore[attr-defined]
    test = load_features(source, options["phase"])
    train = load_features(source, models.facts["phase"])
    decoding = DecodingSettings.model_validate(models.options["decoding"])
    estimator: Any = TypeAdapter(EstimatorSettings).validate_python(models.options["estimator"])
    within = options["phase"] == models.facts["phase"]
    n_train, n_test = len(train.times), len(test.times)
    votes = create_array("votes", (n_test, n_train, len(test.labels), len(test.classes)), np.uint8)
    if "weights" not in models.arrays:
        warm_up(estimator)
        return test, train, models, decoding, estimator, within, None, votes, Units(n_train)
    stacked = None if within else stack_weights(models.arrays["weights"])
    return test, train, models, decoding, estimator, within, stacked, votes, Units(n_test)


def analysis(sliceno: int, prepare_res: Any) -> list[dict[str, Any]]:
    from shortloop.decoding.apply import apply_weights, apply_weights_within, refit_and_apply
    from shortloop.jobs.threads import check_single_thread

    test, train, models, decoding, estimator, within, stacked, votes, units = prepare_res
    arrays = models.arrays
    folds = arrays["folds"]
    has_model = arrays["kept"].any(axis=2)
    for unit in units:
        if "weights" not in arrays:
            votes[:, unit] = refit_and_apply(
                train.data[unit],
                train.labels,
                folds,
                test.data,
                within=within,
                n_classes=len(train.classes),
                decoding=decoding,
                estimator=estimator,
            )
        elif within:
            votes[unit] = apply_weights_within(
                test.data[unit],
                folds,
                arrays["weights"],
                arrays["intercepts"],
                has_model,
                scaling=decoding.scaling,
            )
        else:
            votes[unit] = apply_weights(
                test.data[unit], stacked, arrays["intercepts"], has_model, scaling=decoding.scaling
            )
    return check_single_thread()


def synthesis(prepare_res: Any, analysis_res: Any) -> None:
    from shortloop.decoding.scores import confusions
    from shortloop.jobs.records import Array, save_array, write_record

    test, train, models, decoding, _, within, _, votes, _ = prepare_res
    save_array("confusions", confusions(votes, test.labels, 1 if within else decoding.folds))
    save_array("labels", test.labels)
    save_array("train_times", train.times)
    save_array("test_times", test.times)
    write_record(
        "apply",
        options["participant"],
        {
            "votes": Array(
                "test bins × training bins × trials × classes", "classifiers that call a trial each class"
            ),
            "confusions": Array(
                "test bins × training bins × true class × predicted class",
                "summed over folds" if within else "summed over folds, divided by their number",
                "trials",
            ),
            "labels": Array("trials", "class of each trial, an index into the classes"),
            "train_times": Array("training bins", "centre of each bin, 0 at the event", train.time_unit),
            "test_times": Array("test bins", "centre of each bin, 0 at the event", test.time_unit),
        },
        facts={
            "classes": list(test.classes),
            "kind": test.kind,
            "train_phase": models.facts["phase"],
            "phase": options["phase"],
            "time_unit": test.time_unit,
        },
        threads=next(iter(analysis_res)),
    )
