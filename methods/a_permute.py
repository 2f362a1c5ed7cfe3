"""Scores of one participant, and the same under shuffled labels."""

from __future__ import annotations

from typing import Any

from shortloop.jobs.keys.code import code_of

description = "Permute: scores, and the same scores under shuffled labels"
depend_extra = code_of(__file__)
options: dict[str, Any] = {
    "partition": "",
    "seed": 0,
    "count": 1000,
    "null": "test-labels",  # or training-labels: everything is trained again
    "score": "balanced-accuracy",
}
jobs = ("models", "applied", "features", "before")  # before: the same with another count

PER_UNIT = 50  # permutations, re-tallied at once
LITTLE = 1e9  # additions and products that take no longer than forking slices


def prepare(job: Any) -> Any:
    from types import SimpleNamespace

    import numpy as np

    from shortloop.eeg.decoding.apply import cross_validated_votes
    from shortloop.eeg.decoding.metrics.scores import chance_level, scores_of
    from shortloop.eeg.decoding.permute import permuted_labels
    from shortloop.engines.checkpoints import Checkpoint
    from shortloop.worker.records import save_array
    from shortloop.worker.results import open_result

    models = open_result(jobs.models.path)  # type: ignore[attr-defined]
    applied = open_result(jobs.applied.path) if jobs.applied else None  # type: ignore[attr-defined]
    count, seed, who, score = options["count"], options["seed"], options["partition"], options["score"]
    ranked = score == "auc"
    phase = models.facts["phase"]
    folds = np.asarray(models.arrays["folds"])
    truth = {"curve": np.asarray(models.arrays["labels"])}
    n_classes = len(models.facts["classes"])
    if ranked:
        from shortloop.eeg.decoding.metrics.auc import decision_ranks

        evidence = {"curve": decision_ranks(models.arrays["decisions"], folds)}
    else:
        evidence = {"curve": cross_validated_votes(models.arrays["predicted"], n_classes)}
    groups: dict[str, Any] = {"curve": folds}  # trials are ranked among those that one classifier decides on
    # Within folds: a fold's training labels fix how many held-out trials each class has.
    shuffled = {"curve": permuted_labels(truth["curve"], count, seed=seed, names=(who, phase), folds=folds)}
    if applied is not None:
        decoded = applied.facts["phase"]
        evidence["plane"] = applied.arrays["ranks" if ranked else "votes"]
        truth["plane"] = np.asarray(applied.arrays["labels"])
        groups["plane"] = folds if decoded == phase else None
        shuffled["plane"] = (
            shuffled["curve"]
            if decoded == phase
            else permuted_labels(truth["plane"], count, seed=seed, names=(who, decoded))
        )
    before = open_result(jobs.before.path).arrays if jobs.before else None  # type: ignore[attr-defined]
    have = 0 if before is None else min(count, len(before["curve_null"]))
    left = count - have  # a permutation is the same however many are asked for
    n_bins, n_trials = evidence["curve"].shape[:2]
    at_once = False  # whether one training serves many permutations; a unit is then one bin of a block
    if options["null"] == "training-labels":
        from shortloop.eeg.decoding.batched.scores import labelling_blocks, trains_many, warm_up_many

        decoding, estimator = _settings(models)
        at_once = trains_many(estimator, decoding)
    if at_once:
        warm_up_many(estimator)
        parts = labelling_blocks(left, n_trials, n_classes) if left else []
        parts = [slice(have + part.start, have + part.stop) for part in parts]
    else:
        size = PER_UNIT if options["null"] == "test-labels" else 1
        parts = [slice(first, min(first + size, count)) for first in range(have, count, size)]
    units = Checkpoint(len(parts) * (n_bins if at_once else 1))
    null, chance = {}, {}
    for shape, each in evidence.items():
        labels = truth[shape]
        save_array(f"{shape}_scores", scores_of(score, each, labels[np.newaxis], groups[shape])[0])
        chance[shape] = chance_level(score, labels, n_classes)
        null[shape] = units.create_array(f"{shape}_null", (count, *each.shape[:-2]), np.float64)
        if before is not None:
            null[shape][:have] = before[f"{shape}_null"][:have]
    units.start()
    state = SimpleNamespace(**locals())
    work = left * sum(2 * n_classes * each.size for each in evidence.values())
    if options["null"] == "test-labels" and work < LITTLE:
        synthesis(state, [analysis(0, state)])
        job.finish_early()
    return state


def analysis(sliceno: int, prepare_res: Any) -> Any:
    from shortloop.worker.threads import check_single_thread

    state = prepare_res
    if options["null"] == "test-labels":
        _retally(state)
    elif state.at_once:
        _retrain_many(state)
    else:
        _retrain(state)
    return check_single_thread() if state.units.had_last else None


def synthesis(prepare_res: Any, analysis_res: Any) -> None:
    from shortloop.worker.records import Array, save_array, write_record
    from shortloop.worker.threads import threads_of

    prepare_res.units.finish()
    models, applied = prepare_res.models, prepare_res.applied
    save_array("train_times", models.arrays["times"])
    unit, name = models.facts["time_unit"], options["score"]
    scale = "" if name == "auc" else "%"
    arrays = {
        "train_times": Array("bins", "centre of each training bin, 0 at the event", unit),
        "curve_scores": Array("bins", f"cross-validated {name}", scale),
        "curve_null": Array("permutations × bins", "the same under shuffled labels", scale),
    }
    if applied is not None:
        save_array("test_times", applied.arrays["test_times"])
        arrays |= {
            "test_times": Array("test bins", "centre of each test bin, 0 at the event", unit),
            "plane_scores": Array("test bins × training bins", name, scale),
            "plane_null": Array(
                "permutations × test bins × training bins", "the same under shuffled labels", scale
            ),
        }
    write_record(
        "permute",
        options["partition"],
        arrays,
        facts={
            "classes": models.facts["classes"],
            "kind": models.facts["kind"],
            "time_unit": unit,
            "train_phase": models.facts["phase"],
            "test_phase": applied.facts["phase"] if applied else None,
            "left_out": models.facts["left_out"],
            "null": options["null"],
            "score": name,
            "chance": prepare_res.chance,  # None: what the null says
        },
        threads=threads_of(analysis_res),
    )


def _retally(state: Any) -> None:
    """The same predictions under shuffled labels."""
    from shortloop.eeg.decoding.metrics.scores import scores_of

    for unit in state.units:
        part = state.parts[unit]
        for shape, each in state.evidence.items():
            labels = state.shuffled[shape][part]
            state.null[shape][part] = scores_of(state.score, each, labels, state.groups[shape])


def _retrain(state: Any) -> None:
    """Everything trained again, on one labelling of the training trials at a time."""
    from shortloop.eeg.decoding.generalize import retrained_scores

    train, test, within = _features(state)
    decoding, estimator = _settings(state.models)
    for unit in state.units:
        state.null["curve"][unit], plane = retrained_scores(
            train,
            state.shuffled["curve"][unit],
            state.folds,
            test,
            state.truth.get("plane"),
            within=within,
            n_classes=state.n_classes,
            decoding=decoding,
            estimator=estimator,
            score=state.score,
        )
        if plane is not None:
            state.null["plane"][unit] = plane


def _retrain_many(state: Any) -> None:
    """Everything trained again, one bin on many labellings of the training trials at a time."""
    import numpy as np

    from shortloop.eeg.decoding.batched.labels import ManyLabels
    from shortloop.eeg.decoding.batched.scores import many_scores

    train, test, within = _features(state)
    decoding, estimator = _settings(state.models)
    now, many = None, None
    for unit in state.units:
        block, train_bin = divmod(unit, state.n_bins)
        part = state.parts[block]
        if many is None or block != now:
            labels = state.shuffled["curve"][part]
            now, many = block, ManyLabels(labels, state.folds, state.n_classes, decoding.folds)
        state.null["curve"][part, train_bin], plane = many_scores(
            np.ascontiguousarray(train[train_bin]),
            many,
            test,
            state.truth.get("plane"),
            within=within,
            decoding=decoding,
            estimator=estimator,
            score=state.score,
        )
        if plane is not None:
            state.null["plane"][part, :, train_bin] = plane


def _features(state: Any) -> tuple[Any, Any, bool]:
    """Features of the training phase, of the decoded phase, and whether they are the same."""
    from shortloop.eeg.stages.feature_files import load_features
    from shortloop.worker.results import open_result

    source = open_result(jobs.features.path)  # type: ignore[attr-defined]
    decoded = state.applied.facts["phase"] if state.applied else None
    test = load_features(source, decoded).data if decoded else None
    return load_features(source, state.phase).data, test, decoded == state.phase


def _settings(models: Any) -> tuple[Any, Any]:
    """How the classifiers were trained."""
    from pydantic import TypeAdapter

    from shortloop.eeg.study.decoding import DecodingSettings, EstimatorSettings

    estimator: Any = TypeAdapter(EstimatorSettings).validate_python(models.facts["estimator"])
    return DecodingSettings.model_validate(models.facts["decoding"]), estimator
