"""LDA of one bin and fold, trained on many label vectors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from shortloop.base.types import FloatArray
from shortloop.eeg.decoding.batched.closed_form import FoldMachines, fold_machines
from shortloop.eeg.decoding.batched.labellings import Labellings
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.solvers.lda_contrasts import solve

__all__ = ["train_machines", "warm_up"]


def train_machines(x: FloatArray, labellings: Labellings, estimator: LdaSettings) -> Iterator[FoldMachines]:
    """Train every fold of one bin on each of many label vectors."""
    return fold_machines(
        x, labellings, partial(solve, shrinkage=estimator.shrinkage), labellings.n_classes - 1
    )


def warm_up() -> None:
    """Nothing is compiled."""
