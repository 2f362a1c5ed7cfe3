"""Label permutations with everything trained again: MNE's estimators over time, one label vector at a time,
against many at once."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import interleaved, ratio, seconds_of, spread
from benchmarks.options import Options
from benchmarks.write import figures
from shortloop.eeg.decoding.batched import lda, svm
from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.batched.scores import batched_scores, warm_up_batched
from shortloop.eeg.decoding.estimators.base import EstimatorSettings
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.types import FloatArray, IntArray

__all__ = ["run"]

N400 = Path(__file__).resolve().parents[2] / "shared" / "data" / "n400" / "subject04-epo.fif"
FOLDS = 5
SHRINKAGE = 0.1
DECODING = DecodingSettings(folds=FOLDS, select_alpha=1.0, scaling="training")
LDA, SVM = LdaSettings(shrinkage=SHRINKAGE), LinearSvmSettings(C=(1.0,))
ESTIMATORS: dict[str, EstimatorSettings] = {"LDA": LDA, "SVM": SVM}
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
        ``same_predictions``: the share of held-out predictions that are those of MNE's estimators, for LDA
        and, trained until it converges, for the SVM; ``tables``.
    """
    data, labels, source = _data(options.quick)
    count = 51 if options.quick else LABELLINGS
    folds = stratified_folds(labels, FOLDS, 0)
    shuffled = permuted_labels(labels, count - 1, seed=0, names=("n400", "reading"), folds=folds)
    labellings = np.concatenate([labels[np.newaxis].astype(np.int8), shuffled])
    for estimator in ESTIMATORS.values():
        warm_up_batched(estimator)
    sampled = {"time": 2, "generalization": 1}
    tasks = [(shape, model) for shape in sampled for model in ESTIMATORS]
    peers = {task: partial(_mne, data, labellings, folds, *task, sampled[task[0]]) for task in tasks}
    mine = {task: partial(_ours, data, labellings, folds, *task) for task in tasks}
    agreement = {model: _agreement(data[::10], labellings[:2], folds, model) for model in ESTIMATORS}
    works = {
        f"{side} {shape} {model}": each[shape, model]
        for side, each in (("mne", peers), ("ours", mine))
        for shape, model in tasks
    }
    seconds = interleaved(works, options.runs)
    measured = {}
    for shape, model in tasks:
        theirs, own = seconds[f"mne {shape} {model}"], seconds[f"ours {shape} {model}"]
        title = f"{model}, {'over time' if shape == 'time' else 'generalization'}"
        measured[title] = {"mne": spread(theirs), "ours": spread(own), "ratio": ratio(theirs, own)}
    result = {
        "source": source,
        "shape": list(data.shape),
        "folds": FOLDS,
        "labellings": count,
        "sampled": f"MNE's from {sampled['time']} (over time) and {sampled['generalization']} label vector "
        "(generalization), scaled up; ours from all.",
        "same_predictions": agreement,
        "tasks": measured,
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
    data: FloatArray, labellings: IntArray, folds: IntArray, shape: str, model: str, sampled: int, run: int
) -> float:
    """Seconds that MNE takes for all label vectors, from those of a few."""
    from mne.decoding import cross_val_multiscore
    from sklearn.exceptions import ConvergenceWarning

    estimator, splits = _over_time(shape, model), _splits(folds)
    x = data.transpose(1, 2, 0)  # trials × channels × time points

    def work() -> None:
        for each in range(sampled):
            labels = labellings[(run * sampled + each) % len(labellings)]
            cross_val_multiscore(estimator, x, labels, cv=splits, verbose="error")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return seconds_of(work) * len(labellings) / sampled


def _over_time(shape: str, model: str, max_iter: int = 1000) -> Any:
    from mne.decoding import GeneralizingEstimator, SlidingEstimator
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    classifier = (
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage=SHRINKAGE)
        if model == "LDA"
        else LinearSVC(loss="hinge", C=1.0, max_iter=max_iter, random_state=0)
    )
    over = SlidingEstimator if shape == "time" else GeneralizingEstimator
    return over(make_pipeline(StandardScaler(), classifier), scoring="accuracy", n_jobs=1, verbose="error")


def _splits(folds: IntArray) -> list[tuple[IntArray, IntArray]]:
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(FOLDS)]


def _ours(data: FloatArray, labellings: IntArray, folds: IntArray, shape: str, model: str, run: int) -> float:
    """Seconds that ours takes for all label vectors."""
    test = data if shape == "generalization" else None

    def work() -> None:
        labels = Labellings(labellings, folds, 2, FOLDS)
        for x in data:
            batched_scores(
                x,
                labels,
                test,
                None,
                within=True,
                decoding=DECODING,
                estimator=ESTIMATORS[model],
                score="accuracy",
            )

    return seconds_of(work)


def _agreement(data: FloatArray, few: IntArray, folds: IntArray, model: str) -> float:
    """Share of held-out predictions that are those of MNE's estimators, the SVM taken until it converges."""
    x = data.transpose(1, 2, 0)
    theirs = _over_time("time", model, max_iter=1_000_000)
    expected = np.empty((len(few), len(data), data.shape[1]))
    for labels, into in zip(few, expected):
        for train, test in _splits(folds):
            into[:, test] = theirs.fit(x[train], labels[train]).predict(x[test]).T
    found = np.empty_like(expected)
    labellings = Labellings(few, folds, 2, FOLDS)
    for b, each in enumerate(data):
        svms = model == "SVM"
        of_folds = (
            svm.train_machines(each, labellings, SVM) if svms else lda.train_machines(each, labellings, LDA)
        )
        for (_, test), machines in zip(_splits(folds), of_folds):
            decided = machines.coordinates(each[np.newaxis, test], "training") @ machines.weights[:, 0]
            found[:, b, test] = decided.T > 0
    return float((found == expected).mean())


def _table(result: dict[str, Any]) -> dict[str, Any]:
    points, trials, channels = result["shape"]
    return {
        "title": f"{result['labellings']} label vectors, {FOLDS} folds, {points} time points, one core",
        "columns": ["task", "MNE", "Shortloop", "ratio"],
        "rows": [
            [name, figures(each["mne"], "s"), figures(each["ours"], "s"), figures(each["ratio"])]
            for name, each in result["tasks"].items()
        ],
        "note": f"{trials} trials of {channels} channels, {result['source']}. {result['sampled']} Held-out "
        "predictions that are MNE's: "
        + ", ".join(f"{model} {100 * share:.2f} %" for model, share in result["same_predictions"].items())
        + " (LinearSVC taken until it converges).",
    }
