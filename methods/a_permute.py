"""Scores of one participant, and the same under shuffled labels."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.code import code_of

description = "Permute: scores, and the same scores under shuffled labels"
depend_extra = code_of(__file__)
options: dict[str, Any] = {
    "participant": "",
    "seed": 0,
    "count": 1000,
    "null": "test-labels",  # or training-labels: everything is trained again
}
jobs = ("models", "applied", "features")

PER_UNIT = 50  # permutations, re-tallied at once


def prepare() -> Any:
    import numpy as np

    from shortloop.decoding.apply import cross_validated_votes
    from shortloop.decoding.permute import permuted_labels
    from shortloop.decoding.scores import recall_scores
    from shortloop.engines.units import Units
    from shortloop.jobs.records import create_array, save_array
    from shortloop.jobs.results import open_result

    models = open_result(jobs.models.path)  # type: ignore[attr-defined]
    applied = open_result(jobs.applied.path) if jobs.applied else None  # type: ignore[attr-defined]
    count, kind, phase = options["count"], models.facts["kind"], models.facts["phase"]
    # Within folds: a fold's training labels fix how many held-out trials each class has.
    folds = np.asarray(models.arrays["folds"])
    within = {"seed": options["seed"], "folds": folds}
    labels = np.asarray(models.arrays["labels"])
    names = (options["participant"], phase)
    shuffled = {"curve": permuted_labels(labels, count, names=names, **within)}
    votes = {"curve": cross_validated_votes(models.arrays["predicted"], len(models.facts["classes"]))}
    truth = {"curve": labels}
    if applied is not None:
        votes["plane"], truth["plane"] = applied.arrays["votes"], np.asarray(applied.arrays["labels"])
        if applied.facts["phase"] == phase:
            shuffled["plane"] = shuffled["curve"]
        elif options["null"] == "test-labels":
            names = (options["participant"], applied.facts["phase"])
            shuffled["plane"] = permuted_labels(truth["plane"], count, seed=options["seed"], names=names)
    out = {}
    for shape, each in votes.items():
        save_array(f"{shape}_scores", recall_scores(each, truth[shape][np.newaxis])[0])
        out[shape] = create_array(f"{shape}_null", (count, *each.shape[:-2]), np.float64)
    per_unit = PER_UNIT if options["null"] == "test-labels" else 1
    units = Units(-(-count // per_unit))
    return models, applied, kind, votes, truth, shuffled, out, per_unit, units


def analysis(sliceno: int, prepare_res: Any) -> list[dict[str, Any]]:
    from shortloop.decoding.scores import recall_scores
    from shortloop.jobs.threads import check_single_thread

    _, _, _, votes, _, shuffled, out, per_unit, units = prepare_res
    retrain = _retrainer(prepare_res) if options["null"] == "training-labels" else None
    for unit in units:
        part = slice(unit * per_unit, (unit + 1) * per_unit)
        if retrain is None:
            for shape, each in votes.items():
                out[shape][part] = recall_scores(each, shuffled[shape][part])
        else:
            out["curve"][unit], plane = retrain(shuffled["curve"][unit])
            if plane is not None:
                out["plane"][unit] = plane
    return check_single_thread()


def synthesis(prepare_res: Any, analysis_res: Any) -> None:
    from shortloop.jobs.records import Array, save_array, write_record

    models, applied, kind, _, _, _, out, _, _ = prepare_res
    save_array("train_times", models.arrays["times"])
    unit = models.facts["time_unit"]
    arrays = {
        "train_times": Array("bins", "centre of each training bin, 0 at the event", unit),
        "curve_scores": Array("bins", "cross-validated mean recall", "%"),
        "curve_null": Array("permutations × bins", "the same under shuffled labels", "%"),
    }
    if applied is not None:
        save_array("test_times", applied.arrays["test_times"])
        arrays["test_times"] = Array("test bins", "centre of each test bin, 0 at the event", unit)
        arrays["plane_scores"] = Array("test bins × training bins", "mean recall", "%")
        arrays["plane_null"] = Array(
            "permutations × test bins × training bins", "the same under shuffled labels", "%"
        )
    write_record(
        "permute",
        options["participant"],
        arrays,
        facts={
            "classes": models.facts["classes"],
            "kind": kind,
            "time_unit": unit,
            "train_phase": models.facts["phase"],
            "test_phase": applied.facts["phase"] if applied else None,
            "left_out": models.facts["left_out"],
        },
        threads=next(iter(analysis_res)),
    )


def _retrainer(prepared: Any) -> Any:
    """Scores of one labelling of the training trials."""
    from functools import partial

    from pydantic import TypeAdapter

    from shortloop.decoding.generalize import retrained_scores
    from shortloop.jobs.glue import load_features
    from shortloop.jobs.results import open_result
    from shortloop.study.schema import DecodingSettings, EstimatorSettings

    models, applied, _, _, truth, _, _, _, _ = prepared
    source = open_result(jobs.features.path)  # type: ignore[attr-defined]
    phase = models.facts["phase"]
    return partial(
        _retrained,
        retrained_scores,
        load_features(source, phase).data,
        models.arrays["folds"],
        load_features(source, applied.facts["phase"]).data if applied else None,
        truth.get("plane", truth["curve"]),
        {
            "within": applied is not None and applied.facts["phase"] == phase,
            "n_classes": len(models.facts["classes"]),
            "decoding": DecodingSettings.model_validate(models.options["decoding"]),
            "estimator": TypeAdapter(EstimatorSettings).validate_python(models.options["estimator"]),
        },
    )


def _retrained(score: Any, train: Any, folds: Any, test: Any, test_labels: Any, settings: Any, labels: Any) -> Any:
    return score(train, labels, folds, test, test_labels, **settings)
