"""Linear classifiers of one bin and fold, trained on many label vectors: how they decide on other trials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from shortloop.eeg.decoding.selection.scaling import zscore
from shortloop.types import FloatArray, IntArray

__all__ = ["Machines", "block_size", "winners"]

# Numbers in the largest temporary of a block of label vectors: it is to stay in a core's cache.
IN_CACHE = 131072


class Machines(ABC):
    """Classifiers of one bin and fold, trained on each of many label vectors.

    Parameters
    ----------
    mean, std : array of float, shape (features,)
        Moments of the training trials.
    weights : array of float, shape (coordinates + 1, machines, labellings)
        Of a trial's coordinates and 1. The machines are one for each class, the largest of whose decisions
        wins, or one for each class but the first, which decide between their class and the first.
    """

    def __init__(self, mean: FloatArray, std: FloatArray, weights: FloatArray) -> None:
        self._mean, self._std = mean, std
        self.weights = weights

    @abstractmethod
    def project(self, scaled: FloatArray) -> FloatArray:
        """Coordinates of scaled trials.

        Parameters
        ----------
        scaled : array of float64, shape (trials, features)
            May be overwritten.

        Returns
        -------
        array of float64, shape (trials, coordinates)
        """

    def coordinates(self, x: FloatArray, scaling: str) -> FloatArray:
        """Coordinates of trials, and a column of ones.

        Parameters
        ----------
        x : array of float, shape (sets, trials, features)
            Features; the trials of a set are scaled together.
        scaling : str
            ``"separate"`` or ``"training"``; see `DecodingSettings`.

        Returns
        -------
        array of float64, shape (sets · trials, coordinates + 1)
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

        Parameters
        ----------
        rows : int
            Trials to decide on.

        Yields
        ------
        part : slice
            Of the label vectors.
        weights : array of float, shape (coordinates + 1, machines · labellings of the part)
        """
        length, n_machines, n_labels = self.weights.shape
        size = block_size(rows * n_machines)
        for start in range(0, n_labels, size):
            part = slice(start, min(start + size, n_labels))
            yield part, self.weights[:, :, part].reshape(length, -1)


def block_size(numbers: int) -> int:
    """Label vectors in a block.

    Parameters
    ----------
    numbers : int
        Numbers that the block holds for each label vector.

    Returns
    -------
    int
    """
    return max(64, IN_CACHE // max(1, numbers) // 64 * 64)


def winners(decisions: FloatArray, n_classes: int) -> IntArray:
    """Predicted classes, the first of equals.

    Parameters
    ----------
    decisions : array of float, shape (trials, machines, labellings)
        Of `Machines`.
    n_classes : int
        Number of classes.

    Returns
    -------
    array of int8, shape (trials, labellings)
    """
    first = 0 if decisions.shape[1] == n_classes else 1  # class of the first machine
    best = decisions[:, 0] if first == 0 else np.maximum(decisions[:, 0], 0.0)
    won = np.zeros(best.shape, dtype=np.int8) if first == 0 else (decisions[:, 0] > 0).astype(np.int8)
    for k in range(1, decisions.shape[1]):
        better = decisions[:, k] > best
        won[better] = k + first
        best = np.maximum(best, decisions[:, k])
    return won
