"""The main pipeline: recordings to report, one job per participant and stage, one for the group."""

from __future__ import annotations

from typing import Any

from shortloop.eeg.pipeline import (
    StudyRun,
    check_recordings,
    has_features,
    import_epochs,
    import_features,
    names_of,
    phases_of,
    run_study,
    subsampled,
)
from shortloop.eeg.report.deliver import deliver
from shortloop.exax.client import Urd
from shortloop.plan.pipeline import Built

description = "EEG decoding: recordings to report, for the study that STUDY names"


SHOWN = ("check", "train", "apply", "individual", "intervals", "patterns")
"""Stages whose jobs the report shows beside the statistics."""


def main(urd: Urd) -> int:
    return run_study(urd, pipeline, deliver)


def pipeline(run: StudyRun) -> Built:
    return report(run, decode(run))


def decode(run: StudyRun) -> list[Built]:
    """Everything but the report: statistics of each kind of features. Stage by stage, so that engines compute
    the next participant's jobs while workers would idle."""
    groups = []
    for kind, features in make_features(run).items():
        models = {who: train(run, who, kind, made) for who, made in features.items()}
        applied = {who: apply(run, who, kind, made, models[who]) for who, made in features.items()}
        permuted = [permute(run, who, kind, features[who], models[who], applied[who]) for who in features]
        again = [retrain(run, who, kind, features[who], models[who], applied[who]) for who in features]
        retrained = [job for job in again if job is not None]
        for who, made in features.items():
            intervals(run, who, kind, models[who], applied[who])
            patterns(run, who, kind, made, models[who])
        alone = retrained if len(features) == 1 else []  # of several, too few for each one's own test
        individual(run, kind, permuted, alone)
        groups.append(group(run, kind, permuted, retrained))
    return groups


def make_features(run: StudyRun) -> dict[str, dict[str, Built]]:
    """Features of each kind and participant, from recordings that are checked first."""
    study = run.study
    if has_features(study):
        features = {kind: import_features(run, kind) for kind in study.features.kinds}
        check_recordings(run, [job for jobs in features.values() for job in jobs.values()])
        return subsampled(run, features)
    epochs = import_epochs(run)
    check_recordings(run, list(epochs.values()))
    features = {
        kind: {
            who: run.build(
                kind,
                partition=who,
                settings=settings.model_dump(exclude={"apply"}),
                phases=phases_of(study, kind),
                epochs=job,
            )
            for who, job in epochs.items()
        }
        for kind, settings in study.features.kinds.items()
    }
    return subsampled(run, features)


def train(run: StudyRun, who: str, kind: str, features: Built) -> Built:
    study = run.study
    return run.build(
        "train",
        partition=who,
        kind=kind,
        phase=study.phases.train,
        seed=study.seed,
        decoding=study.decoding.of_training(),
        decisions=study.decoding.score == "auc",
        estimator=study.estimator,
        features=features,
        modules=study.estimator.modules(),
    )


def apply(run: StudyRun, who: str, kind: str, features: Built, models: Built) -> Built | None:
    if not run.study.features.kinds[kind].apply:
        return None
    return run.build(
        "apply",
        partition=who,
        kind=kind,
        phase=run.study.phases.decoded,
        features=features,
        models=models,
        modules=run.study.estimator.modules(),
    )


def permute(
    run: StudyRun, who: str, kind: str, features: Built, models: Built, applied: Built | None
) -> Built:
    study = run.study
    asked = scored(run, kind, study.permutations.count, models, applied)
    if study.permutations.null != "training-labels":
        return run.build("permute", partition=who, **asked)
    modules = study.estimator.modules(batched=True)
    return run.build("retrain", partition=who, features=features, modules=modules, **asked)


def retrain(
    run: StudyRun, who: str, kind: str, features: Built, models: Built, applied: Built | None
) -> Built | None:
    """Cross-validated scores of a few trainings on shuffled labels, beside those of shuffled test labels."""
    study = run.study
    if not study.trainings:
        return None
    within = applied if study.phases.within else None
    asked = scored(run, kind, study.trainings, models, within)
    modules = study.estimator.modules(batched=True)
    return run.build("retrain", partition=who, features=features, modules=modules, **asked)


def scored(run: StudyRun, kind: str, count: int, models: Built, applied: Built | None) -> dict[str, Any]:
    """Options of both stages that compute scores and their null distribution."""
    seed, score = run.study.seed, run.study.decoding.score
    return {"kind": kind, "seed": seed, "count": count, "score": score, "models": models, "applied": applied}


def tested(run: StudyRun, kind: str, permuted: list[Built], retrained: list[Built]) -> dict[str, Any]:
    """Options of both stages that test scores against their null distribution."""
    asked = {"kind": kind, "settings": run.study.group, "seed": run.study.seed}
    return {**asked, "permuted": permuted, "retrained": retrained}


def group(run: StudyRun, kind: str, permuted: list[Built], retrained: list[Built]) -> Built:
    return run.build("group", **tested(run, kind, permuted, retrained))


def individual(run: StudyRun, kind: str, permuted: list[Built], retrained: list[Built]) -> Built:
    return run.build("individual", **tested(run, kind, permuted, retrained))


def intervals(run: StudyRun, who: str, kind: str, models: Built, applied: Built | None) -> Built:
    return run.build(
        "intervals",
        partition=who,
        kind=kind,
        seed=run.study.seed,
        score=run.study.decoding.score,
        draws=2000,
        level=0.95,
        models=models,
        applied=applied,
    )


def patterns(run: StudyRun, who: str, kind: str, features: Built, models: Built) -> Built:
    return run.build("patterns", partition=who, kind=kind, features=features, models=models)


def evoked(run: StudyRun) -> list[Built]:
    amplitude, phases = run.study.features.amplitude, list(run.study.phases.names)
    baseline = amplitude.baseline if amplitude else None
    return [
        run.build("evoked", partition=job.partition, baseline=baseline, phases=phases, epochs=job)
        for job in run.jobs
        if job.stage == "import_epochs"
    ]


def report(run: StudyRun, groups: list[Built]) -> Built:
    made: dict[str, Any] = {stage: [job for job in run.jobs if job.stage == stage] for stage in SHOWN}
    imported = [job for job in run.jobs if job.stage.startswith("import_")]
    return run.build(
        "report",
        study=run.study.for_report(),
        groups=groups,
        imported=imported,
        names=names_of(imported),
        evoked=evoked(run),
        formats=run.study.report.formats,
        **made,
    )
