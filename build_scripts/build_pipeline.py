"""The main pipeline: recordings to report, one job per participant and stage, one for the group."""

from __future__ import annotations

from typing import Any

from shortloop.eeg.report.deliver import deliver
from shortloop.jobs.executor import Built, Plan, run_study

description = "EEG decoding: recordings to report, for the study that STUDY names"


def main(urd: Any) -> int:
    return run_study(urd, pipeline, deliver)


def pipeline(run: Plan) -> Built:
    return report(run, decode(run))


def decode(run: Plan) -> list[Built]:
    """Everything but the report: statistics of each kind of features."""
    features = make_features(run)
    groups = []
    for kind, of_participants in features.items():
        permuted = []
        for participant, made in of_participants.items():
            models = train(run, participant, made)
            applied = apply(run, participant, kind, made, models)
            permuted.append(permute(run, participant, made, models, applied))
        groups.append(group(run, permuted))
    return groups


def make_features(run: Plan) -> dict[str, dict[str, Built]]:
    """Features of each kind and participant, from recordings that are checked first."""
    from shortloop.eeg.stages.imports import check_recordings, import_epochs, import_features

    study = run.study
    if study.input.format == "thesis":
        features = {kind: import_features(run, kind) for kind in study.features.kinds}
        check_recordings(run, [job for jobs in features.values() for job in jobs.values()])
        return features
    epochs = import_epochs(run)
    check_recordings(run, list(epochs.values()))
    return {
        kind: {
            participant: run.build(
                kind,
                participant,
                options={
                    "settings": settings.model_dump(exclude={"apply"}),
                    "phases": list(study.phases.names if settings.apply else study.phases.names[:1]),
                },
                jobs={"epochs": job},
            )
            for participant, job in epochs.items()
        }
        for kind, settings in study.features.kinds.items()
    }


def train(run: Plan, participant: str, features: Built) -> Built:
    study = run.study
    return run.build(
        "train",
        participant,
        options={
            "phase": study.phases.train,
            "seed": study.seed,
            "decoding": study.decoding.model_dump(exclude={"score"}),
            "decisions": study.decoding.score == "auc",
            "estimator": study.estimator.model_dump(),
        },
        jobs={"features": features},
        modules=estimator_modules(run),
    )


def estimator_modules(run: Plan) -> list[str]:
    """Where an estimator comes from that the study names by its import path; every stage may make it."""
    estimator = run.study.estimator
    return [estimator.path.rpartition(".")[0]] if estimator.kind == "sklearn" else []


def apply(run: Plan, participant: str, kind: str, features: Built, models: Built) -> Built | None:
    if not run.study.features.kinds[kind].apply:
        return None
    return run.build(
        "apply",
        participant,
        options={"phase": run.study.phases.decoded},
        jobs={"features": features, "models": models},
        modules=estimator_modules(run),
    )


def permute(run: Plan, participant: str, features: Built, models: Built, applied: Built | None) -> Built:
    permutations = run.study.permutations
    jobs = {"models": models}
    if applied is not None:
        jobs["applied"] = applied
    if permutations.null == "training-labels":
        jobs["features"] = features
    return run.build(
        "permute",
        participant,
        options={"seed": run.study.seed, "score": run.study.decoding.score, **permutations.model_dump()},
        jobs=jobs,
        grows="count",
        modules=estimator_modules(run),
    )


def group(run: Plan, permuted: list[Built]) -> Built:
    study = run.study
    return run.build(
        "group",
        options={"settings": study.group.model_dump(), "seed": study.seed},
        jobs={"permuted": permuted},
    )


def report(run: Plan, groups: list[Built]) -> Built:
    settings = run.study.model_dump(mode="json", exclude={"input": {"folder"}})
    imported = [job for job in run.jobs if job.stage.startswith("import_")]
    return run.build("report", options={"study": settings}, jobs={"groups": groups, "imported": imported})
