"""Classifiers of every training bin on every bin of the decoded phase: temporal generalization."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Apply: all classifiers on all bins of the decoded phase"
depend_extra = code_of(__file__)
options: dict[str, Any] = {"partition": "", "phase": ""}
jobs = ("features", "models")


def prepare() -> Any:
    from types import SimpleNamespace

    import numpy as np
    from pydantic import TypeAdapter

    from shortloop.eeg.decoding.apply import stack_weights
    from shortloop.eeg.decoding.metrics.auc import rank_type
    from shortloop.eeg.decoding.metrics.decisions import gives_odds
    from shortloop.eeg.decoding.metrics.ranks import ranked_classes
    from shortloop.eeg.decoding.train import warm_up
    from shortloop.eeg.stages.feature_files import load_features
    from shortloop.eeg.study.decoding import DecodingSettings, EstimatorSettings
    from shortloop.engines.checkpoints import Checkpoint
    from shortloop.worker.results import open_result

    source, models = open_result(jobs.features.path), open_result(jobs.models.path)  # type: ignore[attr-defined]
    test = load_features(source, options["phase"])
    train = load_features(source, models.facts["phase"])
    decoding = DecodingSettings.model_validate(models.facts["decoding"])
    estimator: Any = TypeAdapter(EstimatorSettings).validate_python(models.facts["estimator"])
    within = options["phase"] == models.facts["phase"]
    voters = 1 if within else decoding.folds  # on each trial
    shape = (len(test.times), len(train.times), len(test.labels))
    n_classes = len(test.classes)
    linear = "weights" in models.arrays
    bins = Checkpoint(len(test.times) if linear else len(train.times))
    votes = bins.create_array("votes", (*shape, n_classes), np.uint8)
    ranks, odds = None, False
    if "decisions" in models.arrays:
        columns, odds = ranked_classes(n_classes), gives_odds(estimator)
        ranks = bins.create_array("ranks", (*shape, columns), rank_type(len(test.labels), voters))
    stacked = None
    if not linear:
        warm_up(estimator)
    elif not within:
        stacked = stack_weights(models.arrays["weights"])
    bins.start()
    return SimpleNamespace(**locals())


def analysis(sliceno: int, prepare_res: Any) -> Any:
    from shortloop.eeg.decoding.apply import apply_weights, apply_weights_within, refit_and_apply
    from shortloop.eeg.decoding.metrics.ranks import rank_weights, rank_weights_within
    from shortloop.worker.threads import check_single_thread

    state = prepare_res
    arrays, test, train, scaling = state.models.arrays, state.test, state.train, state.decoding.scaling
    folds = arrays["folds"]
    has_model = arrays["kept"].any(axis=2)
    for unit in state.bins:
        if not state.linear:
            state.votes[:, unit] = refit_and_apply(
                train.data[unit],
                train.labels,
                folds,
                test.data,
                within=state.within,
                n_classes=state.n_classes,
                decoding=state.decoding,
                estimator=state.estimator,
                ranks=None if state.ranks is None else state.ranks[:, unit],
            )
            continue
        x, intercepts, how = test.data[unit], arrays["intercepts"], {"scaling": scaling, "odds": state.odds}
        if state.within:
            weights = arrays["weights"]
            state.votes[unit] = apply_weights_within(
                x, folds, weights, intercepts, has_model, scaling=scaling
            )
            if state.ranks is not None:
                state.ranks[unit] = rank_weights_within(x, folds, weights, intercepts, has_model, **how)
        else:
            state.votes[unit] = apply_weights(x, state.stacked, intercepts, has_model, scaling=scaling)
            if state.ranks is not None:
                state.ranks[unit] = rank_weights(x, state.stacked, intercepts, has_model, **how)
    return check_single_thread() if state.bins.had_last else None


def synthesis(prepare_res: Any, analysis_res: Any) -> None:
    from shortloop.eeg.decoding.metrics.scores import confusions
    from shortloop.worker.records import Array, save_array, write_record
    from shortloop.worker.threads import threads_of

    state = prepare_res
    test, train, models, within = state.test, state.train, state.models, state.within
    state.bins.finish()
    save_array("confusions", confusions(state.votes, test.labels, state.voters))
    save_array("labels", test.labels)
    save_array("train_times", train.times)
    save_array("test_times", test.times)
    arrays = {
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
    }
    if state.ranks is not None:
        arrays["ranks"] = Array(
            "test bins × training bins × trials × classes",
            "twice the rank of each trial's decision for the class "
            + ("among its fold's held-out trials" if within else "among all trials, summed over folds")
            + "; of two classes for the second",
        )
    write_record(
        "apply",
        options["partition"],
        arrays,
        facts={
            "classes": list(test.classes),
            "kind": test.kind,
            "train_phase": models.facts["phase"],
            "phase": options["phase"],
            "time_unit": test.time_unit,
        },
        threads=threads_of(analysis_res),
    )
