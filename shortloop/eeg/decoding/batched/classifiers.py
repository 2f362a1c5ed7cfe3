"""Linear classifiers of one bin and fold, trained on many label vectors: how they decide on other trials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.selection.scaling import zscore

__all__ = ["Machines", "block_size", "winners"]

# Numbers in the largest temporary of a block of label vectors: it is to stay in a core's cache.
IN_CACHE = 131072


class Machines(ABC):
    """Classifiers of one bin and fold, trained on each of many label vectors.

    mean, std: float, (features,). Moments of the training trials.
    weights: float, (coordinates + 1, machines, labellings). Of a trial's coordinates and 1. The machines are
        one for each class, the largest of whose decisions wins, or one for each class but the first, which
        decide between their class and the first.
    """

    def __init__(self, mean: FloatArray, std: FloatArray, weights: FloatArray) -> None:
        self._mean, self._std = mean, std
        self.weights = weights

    @abstractmethod
    def project(self, scaled: FloatArray) -> FloatArray:
        """Coordinates of scaled trials.

        scaled: float64, (trials, features). May be overwritten.
        returns: float64, (trials, coordinates)
        """

    def coordinates(self, x: FloatArray, scaling: str) -> FloatArray:
        """Coordinates of trials, and a column of ones.

        x: float, (sets, trials, features). Features; the trials of a set are scaled together.
        returns: float64, (sets · trials, coordinates + 1)
        """
        if scaling == "training":
            scaled = (x.reshape(-1, x.shape[-1]) - self._mean) / self._std
        else:
            scaled = np.concatenate([zscore(each) for each in x])
        found = np.ones((len(scaled), len(self.weights)))
        found[:, :-1] = self.project(scaled)
        return found

    def blocks(self, rows: int) -> Iterator[tuple[slice, FloatArray]]:
        """Label vectors in blocks whose decisions on so many trials stay in cache.

        weights: float, (coordinates + 1, machines · labellings of the part)
        """
        length, n_machines, n_labels = self.weights.shape
        size = block_size(rows * n_machines)
        for start in range(0, n_labels, size):
            part = slice(start, min(start + size, n_labels))
            yield part, self.weights[:, :, part].reshape(length, -1)


def block_size(numbers: int) -> int:
    """Label vectors in a block."""
    return max(64, IN_CACHE // max(1, numbers) // 64 * 64)


def winners(decisions: FloatArray, n_classes: int) -> IntArray:
    """Predicted classes, the first of equals.

    decisions: float, (trials, machines, labellings). Of `Machines`.
    returns: int8, (trials, labellings)
    """
    first = 0 if decisions.shape[1] == n_classes else 1  # class of the first machine
    best = decisions[:, 0] if first == 0 else np.maximum(decisions[:, 0], 0.0)
    won = np.zeros(best.shape, dtype=np.int8) if first == 0 else (decisions[:, 0] > 0).astype(np.int8)
    for k in range(1, decisions.shape[1]):
        better = decisions[:, k] > best
        won[better] = k + first
        best = np.maximum(best, decisions[:, k])
    return won
