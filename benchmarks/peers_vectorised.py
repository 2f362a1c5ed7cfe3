"""The thesis workload as a careful user of scikit-learn would write it: all features and all classifiers at
once where scikit-learn allows it, predictions made once and counted again, joblib over bins."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.thesis_data import Participant
from shortloop.base.types import FloatArray, IntArray


def seconds(person: Participant, run: int, permutations: int, jobs: int) -> dict[str, float]:
    """Seconds of the stages for one participant, scaled up from a sample of the bins."""
    from joblib import Parallel, delayed

    labels = person.labels
    spent = {"train": 0.0, "apply": 0.0, "permute": 0.0}
    with Parallel(n_jobs=jobs) as parallel:
        parallel(delayed(_imports)() for _ in range(2 * jobs))
        models: list[Any] = []
        for data in (person.amplitude, person.study):
            count = min(2 * jobs, len(data))
            bins = [(run + each * len(data) // count) % len(data) for each in range(count)]
            start = time.perf_counter()
            models = parallel(delayed(train_bin)(data[each], labels) for each in bins)
            spent["train"] += (time.perf_counter() - start) * len(data) / count
        # Every bin's classifiers are as large as any other's: the sampled ones stand for all.
        repeated = [models[each % len(models)] for each in range(len(person.study))]
        weights = np.concatenate([w for w, _, _ in repeated]).reshape(-1, person.study.shape[2])
        intercepts = np.concatenate([b for _, b, _ in repeated]).ravel()
        start = time.perf_counter()
        predicted = np.stack(parallel(delayed(_apply)(x, weights, intercepts) for x in person.test))
        spent["apply"] = time.perf_counter() - start
        shuffled = [np.random.default_rng([run, each]).permutation(labels) for each in range(permutations)]
        start = time.perf_counter()
        parallel(delayed(_recall)(predicted, each) for each in shuffled)
        spent["permute"] = time.perf_counter() - start
    return spent


def train_bin(x: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """All folds of one bin.

    x: float, (trials, features)
    labels: int, (trials,)
    weights: float, (folds, classes, features)
    intercepts: float, (folds, classes)
    predicted: int, (trials,). Of held-out trials.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_selection import f_classif
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.preprocessing import scale
    from sklearn.svm import LinearSVC

    n_folds, estimator = ours.DECODING.folds, ours.ESTIMATOR
    weights = np.zeros((n_folds, ours.N_CLASSES, x.shape[1]))
    intercepts = np.zeros((n_folds, ours.N_CLASSES))
    predicted = np.full(len(labels), -1)
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(x, labels)):
        kept = np.flatnonzero(f_classif(x[train], labels[train])[1] < ours.DECODING.select_alpha)
        if not len(kept):
            continue
        search = GridSearchCV(
            LinearSVC(loss="hinge", tol=estimator.tol, random_state=0),
            {"C": list(estimator.C)},
            cv=StratifiedKFold(estimator.inner_folds),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(scale(x[np.ix_(train, kept)]), labels[train])
        weights[fold][:, kept] = search.best_estimator_.coef_
        intercepts[fold] = search.best_estimator_.intercept_
        predicted[test] = search.predict(scale(x[np.ix_(test, kept)]))
    return weights, intercepts, predicted


def _imports() -> None:
    import sklearn.feature_selection
    import sklearn.model_selection
    import sklearn.svm  # noqa: F401


def _apply(x: FloatArray, weights: FloatArray, intercepts: FloatArray) -> IntArray:
    """Predictions of all classifiers on one test bin, (trials, classifiers)."""
    from sklearn.preprocessing import scale

    decisions = scale(x) @ weights.T + intercepts
    return decisions.reshape(len(x), -1, ours.N_CLASSES).argmax(axis=2).astype(np.int8)


def _recall(predicted: IntArray, labels: IntArray) -> FloatArray:
    """Mean recall of predictions (test bins, trials, classifiers) per test bin and training bin."""
    right = predicted == labels[:, np.newaxis]
    recall = np.mean([right[:, labels == k].mean(axis=1) for k in range(ours.N_CLASSES)], axis=0)
    scores: FloatArray = 100 * recall.reshape(len(predicted), -1, ours.DECODING.folds).mean(axis=2)
    return scores
