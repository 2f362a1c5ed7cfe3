"""Trials of ready-made features, and features that are the class under another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import Span

MONOTONE = 16  # trials; the chance that so many are in order is 1e-13 per feature
FEWEST = 10  # trials; in fewer, two values may match two classes by chance


@dataclass(frozen=True)
class Found:
    """Content of a file of one participant in one phase."""

    trials: list[str]  # class of each
    features: tuple[str, ...]
    cells: Sequence[np.ndarray] | np.ndarray  # of each bin, trials × features
    times: np.ndarray | None = None  # centre of each bin, s; None: bins are numbered from 0
    span: Span | None = None  # place of the cells in the file, if they are maps of it


def refuse_labels_among_features(found: Found, hint: str) -> None:
    """Refuse features that encode the class, or the order of the trials."""
    if len(found.trials) < FEWEST:
        return
    _, labels = np.unique(found.trials, return_inverse=True)
    for name, values in zip(found.features, np.asarray(found.cells[0]).T):
        encodes = _what_it_encodes(values, labels)
        if encodes:
            raise InputError(
                f"a feature {encodes}: anybody could tell the classes from it",
                field=name,
                expected="features that were measured",
                hint=hint,
            )


def _what_it_encodes(values: np.ndarray, labels: np.ndarray) -> str:
    values = values.astype(np.float64, copy=False)  # differences of unsigned numbers are never below 0
    steps = np.diff(values)
    if steps[0] and (steps == steps[0]).all() and float(steps[0]).is_integer():
        return "counts the trials"
    if len(values) >= MONOTONE and ((steps > 0).all() or (steps < 0).all()):
        return "grows or falls from each trial to the next, as numbers and times of trials do"
    classes = labels.max() + 1
    if classes < 2 or len(np.unique(values[: 2 * FEWEST])) > classes:  # most end here
        return ""
    pairs = len(set(zip(values.tolist(), labels.tolist(), strict=True)))
    different = len(np.unique(values))
    # Two values that stand for more classes, as of 'is_face': in few trials, they could by chance.
    enough = different == classes or (different > 1 and len(values) >= classes + FEWEST + MONOTONE)
    return "is the class in other words" if pairs == classes and enough else ""
