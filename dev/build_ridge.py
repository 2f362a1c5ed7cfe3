"""A build script in development: the pipeline's features, from the cache, into one new model stage.

ax run ridge
"""

from __future__ import annotations

from build_scripts.build_pipeline import make_features
from shortloop.eeg.pipeline import StudyRun, run_study
from shortloop.exax.client import Urd
from shortloop.plan.pipeline import Built

description = "In development: a ridge classifier on the features of the main pipeline"


def main(urd: Urd) -> int:
    return run_study(urd, pipeline, show)


def pipeline(run: StudyRun) -> Built:
    study = run.study
    scores = [
        run.build(
            "ridge",
            partition=participant,
            kind=kind,
            phase=study.phases.train,
            folds=study.decoding.folds,
            seed=study.seed,
            features=made,
        )
        for kind, of_participants in make_features(run).items()
        for participant, made in of_participants.items()
    ]
    return scores[-1]


def show(run: StudyRun, last: Built, seconds: float) -> None:
    for job in run.jobs:
        if job.stage == "ridge":
            arrays = job.result().arrays
            best = int(arrays["scores"].argmax())
            peak, time = arrays["scores"][best], arrays["times"][best]
            print(f"{job.partition:<12} {job.job:<10} peak {peak:.1f} % in the bin at {time:g}")
