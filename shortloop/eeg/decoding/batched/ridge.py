"""Ridge regression of one bin and fold, trained on many label vectors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from shortloop.base.types import FloatArray
from shortloop.eeg.decoding.batched.closed_form import FoldMachines, fold_machines
from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.estimators.ridge import RidgeSettings
from shortloop.eeg.decoding.solvers.ridge import solve

__all__ = ["train_machines", "warm_up"]


def train_machines(x: FloatArray, labellings: Labellings, estimator: RidgeSettings) -> Iterator[FoldMachines]:
    """Train every fold of one bin on each of many label vectors."""
    n_machines = 1 if labellings.n_classes == 2 else labellings.n_classes
    return fold_machines(x, labellings, partial(solve, alpha=estimator.alpha), n_machines)


def warm_up() -> None:
    """Nothing is compiled."""
