"""The thesis workload as the thesis's Python computes it: one feature, one fit, one prediction at a time.

Timed on a sample of bins, folds and predictions, and scaled up to all of them.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.thesis_data import Participant
from shortloop.base.types import FloatArray, IntArray

TEST_BINS = 5  # that each sampled classifier predicts
SAMPLED_PERMUTATIONS = 2


@dataclass(frozen=True)
class FoldFit:
    """A fitted grid search and the features that it sees.

    kept: bool, (features,)
    search: a fitted ``GridSearchCV``.
    anova, training: Seconds.
    """

    kept: np.ndarray
    search: Any
    anova: float
    training: float


def seconds(person: Participant, run: int, permutations: int) -> dict[str, float]:
    """Seconds of the stages for one participant, scaled up from a sample."""
    labels = person.labels
    folds, n_folds = ours.folds_of(labels), ours.DECODING.folds
    spent = {"anova": 0.0, "train": 0.0, "apply": 0.0, "permute": 0.0}
    models: list[FoldFit] = []
    for data in (person.amplitude, person.study):
        models = []
        for each in range(2):  # one bin before the effect, one within
            x = data[(each * len(data) // 4 + run) % len(data)]
            held_out = folds == run % n_folds
            model = train_fold(x, labels, ~held_out)
            models.append(model)
            start = time.perf_counter()
            confusion(labels[held_out], predict(model, standardised(x[held_out])))
            scale = len(data) * n_folds / 2
            spent["anova"] += scale * model.anova
            spent["train"] += scale * (model.training + time.perf_counter() - start)
    # A test bin is scaled once for all its classifiers, which is kinder than the original.
    test = person.test[:TEST_BINS]
    start = time.perf_counter()
    scaled = [standardised(x) for x in test]
    scaling = (time.perf_counter() - start) * len(person.test) / len(test)
    share = len(person.study) * n_folds / len(models) * len(person.test) / len(test)
    start = time.perf_counter()
    _predict_all(models, scaled, labels)
    spent["apply"] = scaling + (time.perf_counter() - start) * share
    rng = np.random.default_rng(run)
    start = time.perf_counter()
    for _ in range(SAMPLED_PERMUTATIONS):
        _predict_all(models, scaled, rng.permutation(labels))
    predicting = (time.perf_counter() - start) / SAMPLED_PERMUTATIONS
    spent["permute"] = permutations * (scaling + predicting * share)
    return spent


def train_fold(x: FloatArray, labels: IntArray, train: np.ndarray) -> FoldFit:
    """ANOVA feature by feature, z-scores, grid search.

    x: float, (trials, features)
    labels: int, (trials,)
    train: bool, (trials,). Training trials.
    """
    from scipy.stats import f_oneway
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import LinearSVC

    start = time.perf_counter()
    classes = [x[train & (labels == k)] for k in range(ours.N_CLASSES)]
    p = [f_oneway(*(each[:, feature] for each in classes)).pvalue for feature in range(x.shape[1])]
    kept = np.array(p) < ours.DECODING.select_alpha
    if not kept.any():  # pure noise of few features
        kept[int(np.argmin(p))] = True
    anova = time.perf_counter() - start
    start = time.perf_counter()
    search = GridSearchCV(
        LinearSVC(loss="hinge", tol=ours.ESTIMATOR.tol, random_state=0),
        {"C": list(ours.ESTIMATOR.C)},
        cv=StratifiedKFold(ours.ESTIMATOR.inner_folds),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(standardised(x[train][:, kept]), labels[train])
    return FoldFit(kept, search, anova, time.perf_counter() - start)


def predict(model: FoldFit, scaled: FloatArray) -> IntArray:
    """Predictions of one classifier.

    scaled: float, (trials, features). All features, z-scored.
    returns: int, (trials,)
    """
    predicted: IntArray = model.search.predict(scaled[:, model.kept])
    return predicted


def standardised(x: FloatArray) -> FloatArray:
    """z-scores over trials.

    x: float, (trials, features)
    returns: float, (trials, features)
    """
    from scipy.stats import zscore

    scaled: FloatArray = zscore(x)
    return scaled


def _predict_all(models: list[FoldFit], test: list[FloatArray], labels: IntArray) -> None:
    for scaled in test:
        for model in models:
            confusion(labels, predict(model, scaled))


def confusion(truth: IntArray, predicted: IntArray) -> IntArray:
    """Confusion matrix of one set of predictions.

    truth, predicted: int, (trials,)
    returns: int, (classes, classes)
    """
    from sklearn.metrics import confusion_matrix

    counts: IntArray = confusion_matrix(truth, predicted, labels=range(ours.N_CLASSES))
    return counts
