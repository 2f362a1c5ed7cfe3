"""Units of the thesis workload and of a heavy one, and the stage made of them; data as files of arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.stages.stage import File, Out, Stage

if TYPE_CHECKING:
    import numpy as np

WORKS = {
    "train": "training a bin of power",
    "permute": "fifty permutations of votes",
    "retrain": "a permutation, trained again",
}
"""What a unit is, by name of the work."""
CLASSES = 3
PER_UNIT = 50  # permutations re-tallied at once, as in the stage
FOLDS = 5  # of retrain

Work = Callable[[int], "np.ndarray"]


def opened(work: str, file: Path) -> Work:
    """Map the data of a kind of work, and import what it needs."""
    import numpy as np

    data = np.load(file, mmap_mode="r")
    trials = data.shape[0] if work == "retrain" else data.shape[1] if work == "train" else data.shape[-2]
    labels = np.repeat(np.arange(CLASSES), trials // CLASSES)
    return {"train": _training, "permute": _permuting, "retrain": _retraining}[work](data, labels)


class Decode(Stage):
    """Units of one kind of work."""

    work: str
    count: int
    shape: list[int]  # of what a unit gives
    file: File
    number: int  # tells jobs apart, so that each is built

    def open(self) -> None:
        """Map the data."""
        self._work = opened(self.work, self.file.path)

    def units(self) -> int:
        """As many as were asked for."""
        return self.count

    def outputs(self) -> dict[str, Out]:
        """What each unit gives."""
        axes = " × ".join(["units", *(f"axis {number}" for number in range(len(self.shape)))])
        return {"values": Out((self.count, *self.shape), "f8", axes, "what each unit gives")}

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        """One of them."""
        return {"values": self._work(unit)}


def _training(data: np.ndarray, labels: np.ndarray) -> Work:
    """Weights of the classifiers of a bin, as `ours.train` leaves them."""
    import numpy as np

    from benchmarks import ours
    from shortloop.eeg.decoding.train import warm_up  # named here, so that it is done once for all jobs

    folds = ours.folds_of(labels)
    warm_up(ours.ESTIMATOR)
    return lambda unit: np.asarray(ours.train(data[unit % len(data)], labels, folds).weights, dtype=float)


def _permuting(data: np.ndarray, labels: np.ndarray) -> Work:
    """Scores of one participant's votes under shuffled labels, as `ours.permute` counts them."""
    from shortloop.eeg.decoding.metrics.scores import recall_scores
    from shortloop.eeg.decoding.permute import permuted_labels

    def work(unit: int) -> np.ndarray:
        first = PER_UNIT * (unit // len(data))
        shuffled = permuted_labels(labels, PER_UNIT, seed=0, names=("bench",), first=first)
        return recall_scores(data[unit % len(data)], shuffled)

    return work


def _retraining(data: np.ndarray, labels: np.ndarray) -> Work:
    """Cross-validated accuracies of scikit-learn's logistic regression, trained on shuffled labels."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    estimator = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    folds = StratifiedKFold(FOLDS)

    def work(unit: int) -> np.ndarray:
        shuffled = np.random.default_rng([unit, 1]).permutation(labels)
        return np.asarray(cross_val_score(estimator, data, shuffled, cv=folds), dtype=float)

    return work
