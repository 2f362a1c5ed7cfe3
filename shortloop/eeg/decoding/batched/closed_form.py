"""LDA and ridge of one bin and fold, trained on many label vectors: their shared part is computed once, and
the rest is a few large matrix products over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.eeg.decoding.batched.scores import Labellings, Machines, block_size
from shortloop.eeg.decoding.selection.scaling import moments
from shortloop.eeg.decoding.solvers.common import Basis, decompose


def warm_up() -> None:
    """Nothing is compiled."""


def train_machines(x: FloatArray, labellings: Labellings, estimator: Any) -> Iterator[Machines]:
    """Train every fold of one bin (trials, features) on each of many label vectors."""
    # The estimator has a method `solver`, so that its key holds its own solver and no other.
    if (labellings.train_counts == 0).any():
        problem = "this classifier needs training trials of every class in every fold"
        expected = f"each of 0 … {labellings.n_classes - 1}"
        hint = "use fewer folds, or leave out rare classes"
        raise InputError(problem, field="labels", expected=expected, hint=hint)
    solve, n_machines = estimator.solver(labellings.n_classes)
    fewest = len(x) - max(map(len, labellings.held_out))
    contrasts, n_labels = labellings.n_classes - 1, len(labellings)
    by_folds = x.shape[1] <= fewest
    if by_folds:  # few features: sums over a fold's training trials are the total minus those of its own
        origin = x.mean(axis=0, dtype=np.float64)
        shifted = np.concatenate([x - origin, np.ones((len(x), 1))], axis=1)  # ones: counts of trials
        own = [shifted[rows].T @ each for rows, each in zip(labellings.held_out, labellings.held_out_codes)]
        total = np.add.reduce(own)
    codes = labellings.codes.reshape(len(x), -1)
    for fold in range(labellings.n_folds):
        train = labellings.train[fold]
        chosen = x[train]
        mean, std = moments(chosen)
        scaled = (chosen - mean) / std
        offset = scaled.mean(axis=0)
        basis = decompose(scaled - offset)
        rank = len(basis.values)
        if by_folds:
            turn = np.empty((rank, len(total)))
            turn[:, :-1] = basis.vectors.T / std
            turn[:, -1] = -(basis.vectors.T @ ((mean - origin) / std + offset))
            sums = turn @ np.subtract(total, own[fold], out=own[fold])
        else:  # held-out trials count nothing: this spares a copy of the labels for every fold
            every = np.zeros((rank, len(x)))
            every[:, train] = basis.sums.T
            sums = every @ codes
        sums = sums.reshape(rank, contrasts, n_labels)
        weights = np.empty((rank + 1, n_machines, n_labels))
        size = block_size(rank * contrasts)
        for start in range(0, n_labels, size):
            part = slice(start, start + size)
            given = labellings.codes[:, :, part], labellings.train_counts[fold][:, part]
            solved = solve(basis, *given, sums=sums[:, :, part], rows=train)
            weights[:-1, :, part] = solved.weights
            weights[-1, :, part] = solved.constants
        yield Machines(mean, std, weights, partial(_project, basis, offset, cache(basis.directions)))


def _project(
    basis: Basis, offset: FloatArray, directions: Callable[[], FloatArray], scaled: FloatArray
) -> FloatArray:
    """Coordinates of scaled trials; the mean of the scaled training trials is `offset`."""
    scaled -= offset
    return basis.project(scaled) if len(scaled) < len(basis.centred) else np.asarray(scaled @ directions())
