"""Label permutations with everything trained again: MNE's estimators over time, one label vector at a time,
against many at once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options
from benchmarks.write import figures
from shortloop.data import FloatArray, IntArray
from shortloop.decoding.folds import stratified_folds
from shortloop.decoding.generalize import retrained_scores
from shortloop.decoding.permute import permuted_labels
from shortloop.study.decoding import DecodingSettings, LinearSvmSettings

__all__ = ["run"]

N400 = Path(__file__).resolve().parents[2] / "shared" / "data" / "n400" / "subject04-epo.fif"
FOLDS = 5
SHRINKAGE = 0.1
LABELLINGS = 1001  # the true labels and 1,000 shuffled ones


def run(options: Options) -> dict[str, Any]:
    """Measure four tasks: decoding over time and temporal generalization, LDA and linear SVM.

    Parameters
    ----------
    options : Options

    Returns
    -------
    dict
        ``tasks``: for each the spreads of ``mne`` and ``ours`` (seconds for all label vectors) and ``ratio``;
        ``tables``. Or ``skipped``, where there is no LDA for many labels.
    """
    try:
        from shortloop.decoding import lda_cross, lda_null
    except ImportError:
        return {"skipped": "mne: this version of the library has no LDA for many label vectors"}
    data, labels, source = _data(options.quick)
    count = 51 if options.quick else LABELLINGS
    folds = stratified_folds(labels, FOLDS, 0)
    shuffled = permuted_labels(labels, count - 1, seed=0, names=("n400", "reading"), folds=folds)
    many = np.concatenate([labels[np.newaxis].astype(np.int8), shuffled])

    def lda(test: FloatArray | None) -> None:
        of_labels = lda_cross.ManyLabels(many, folds, 2, FOLDS)
        for x in data:
            lda_null.lda_scores(
                x, of_labels, test, None, within=True, scaling="training", shrinkage=SHRINKAGE
            )

    lda(None)  # what is done once is done
    predicted = lda_cross.cross_validate_lda(data, many[:2], folds, n_classes=2, shrinkage=SHRINKAGE)

    sampled = {"time": 2, "generalization": 1}
    peers = {
        (shape, model): partial(_mne, data, many, folds, shape, model, sampled[shape])
        for shape in sampled
        for model in ("LDA", "SVM")
    }
    mine: dict[tuple[str, str], Callable[[int], float]] = {
        ("time", "LDA"): lambda run: seconds_of(lambda: lda(None)),
        ("generalization", "LDA"): lambda run: seconds_of(lambda: lda(data)),
        ("time", "SVM"): partial(_svm, data, many, folds, "time", sampled["time"]),
        ("generalization", "SVM"): partial(_svm, data, many, folds, "generalization", 1),
    }
    _svm(data, many, folds, "time", 1, 0)  # compiles
    agreement = _agreement(data, many[:2], folds, predicted)
    works = {
        f"{side} {shape} {model}": each[shape, model]
        for side, each in (("mne", peers), ("ours", mine))
        for shape, model in peers
    }
    seconds = interleaved(works, options.runs)
    tasks = {}
    for shape, model in peers:
        theirs, own = seconds[f"mne {shape} {model}"], seconds[f"ours {shape} {model}"]
        title = f"{model}, {'over time' if shape == 'time' else 'generalization'}"
        tasks[title] = {"mne": spread(theirs), "ours": spread(own), "ratio": ratio(theirs, own)}
    result = {
        "source": source,
        "shape": list(data.shape),
        "folds": FOLDS,
        "labellings": count,
        "sampled": f"MNE's from {sampled['time']} (over time) and {sampled['generalization']} label vector "
        "(generalization), scaled up; so is our SVM.",
        "same_predictions": agreement,
        "tasks": tasks,
    }
    return {**result, "tables": [_table(result)]}


def _data(quick: bool) -> tuple[FloatArray, IntArray, str]:
    """Time points × trials × channels, labels, and where they are from."""
    if N400.exists():
        import mne

        epochs = mne.read_epochs(N400, verbose="error")
        _, labels = np.unique(epochs.events[:, 2], return_inverse=True)
        data, source = epochs.get_data().transpose(2, 0, 1), "recorded (N400, one participant)"
    else:
        rng = np.random.default_rng(np.random.SeedSequence(400))
        labels = np.tile([0, 1], 100)
        data, source = 1e-5 * rng.standard_normal((60, 200, 32)), "simulated noise"
    if quick:
        data = data[:4]
    return np.ascontiguousarray(data, dtype=np.float64), labels, source


def _mne(
    data: FloatArray, many: IntArray, folds: IntArray, shape: str, model: str, sampled: int, run: int
) -> float:
    """Seconds that MNE takes for all label vectors, from those of a few."""
    from mne.decoding import cross_val_multiscore
    from sklearn.exceptions import ConvergenceWarning

    estimator, splits = _over_time(shape, model), _splits(folds)
    x = data.transpose(1, 2, 0)  # trials × channels × time points

    def work() -> None:
        for each in range(sampled):
            labels = many[(run * sampled + each) % len(many)]
            cross_val_multiscore(estimator, x, labels, cv=splits, verbose="error")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return seconds_of(work) * len(many) / sampled


def _over_time(shape: str, model: str) -> Any:
    from mne.decoding import GeneralizingEstimator, SlidingEstimator
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    classifier = (
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=SHRINKAGE)
        if model == "LDA"
        else LinearSVC(loss="hinge", C=1.0, random_state=0)
    )
    over = SlidingEstimator if shape == "time" else GeneralizingEstimator
    return over(make_pipeline(StandardScaler(), classifier), scoring="accuracy", n_jobs=1, verbose="error")


def _splits(folds: IntArray) -> list[tuple[IntArray, IntArray]]:
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(FOLDS)]


def _svm(data: FloatArray, many: IntArray, folds: IntArray, shape: str, sampled: int, run: int) -> float:
    """Seconds that ours takes for all label vectors with an SVM, from those of a few."""
    decoding = DecodingSettings(folds=FOLDS, select_alpha=1.0, scaling="training")

    def work() -> None:
        for each in range(sampled):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # not converged, as liblinear's is not
                retrained_scores(
                    data,
                    many[(run * sampled + each) % len(many)],
                    folds,
                    data if shape == "generalization" else None,
                    None,
                    within=True,
                    n_classes=2,
                    decoding=decoding,
                    estimator=LinearSvmSettings(C=(1.0,)),
                )

    return seconds_of(work) * len(many) / sampled


def _agreement(data: FloatArray, few: IntArray, folds: IntArray, predicted: IntArray) -> float:
    """Share of held-out predictions of LDA that are MNE's."""
    same = []
    for labels, own in zip(few, predicted):
        for train, test in _splits(folds):
            x = data.transpose(1, 2, 0)
            theirs = _over_time("time", "LDA").fit(x[train], labels[train]).predict(x[test])
            same.append(theirs == own[:, test].T)
    return float(np.mean(np.concatenate(same)))


def _table(result: dict[str, Any]) -> dict[str, Any]:
    points, trials, channels = result["shape"]
    return {
        "title": f"{result['labellings']} label vectors, {FOLDS} folds, {points} time points, one core",
        "columns": ["task", "MNE", "Shortloop", "ratio"],
        "rows": [
            [name, figures(each["mne"], "s"), figures(each["ours"], "s"), figures(each["ratio"])]
            for name, each in result["tasks"].items()
        ],
        "note": f"{trials} trials of {channels} channels, {result['source']}. {result['sampled']} MNE scores "
        "accuracy, ours mean recall. Held-out predictions of LDA that are "
        f"MNE's: {100 * result['same_predictions']:.2f} %.",
    }
