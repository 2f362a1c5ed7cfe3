"""Trials of ready-made features: those of the study's classes, without features that are the class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.mapped_array import Span
from shortloop.base.types import FloatArray
from shortloop.eeg.data import Features

__all__ = ["Found", "features_of", "refuse_labels_among_features"]

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


def features_of(
    found: Found,
    *,
    kind: str,
    unit: str,
    field: str,
    classes: Sequence[str],
    phase: str,
    allocate: Callable[[tuple[int, ...]], FloatArray],
) -> Features:
    """Select the trials of a study's classes."""
    names = found.trials
    counts = Counter(names)
    missing = [name for name in classes if name not in counts]
    if missing:
        unknown = sorted(counts.keys() - set(classes))
        raise InputError(
            f"the {phase} phase has no trials of {', '.join(missing)}"
            + (f", but of {', '.join(unknown)}" if unknown else ""),
            field=field,
            found=", ".join(f"{counts[name]} {name}" for name in sorted(counts)) or "no trials",
            expected=f"trials of {', '.join(classes)}",
            hint="write the classes in the study file as the file spells them",
        )
    index = {name: number for number, name in enumerate(classes)}
    chosen = np.array([trial for trial, name in enumerate(names) if name in index], dtype=np.intp)
    span = found.span if len(chosen) == len(names) else None
    if span is not None:
        data = cast("FloatArray", found.cells)
    else:
        data = allocate((len(found.cells), len(chosen), len(found.features)))
        for values, cell in zip(data, found.cells):
            values[:] = cell if len(chosen) == len(names) else cell[chosen]
    return Features(
        data=data,
        labels=np.array([index[names[trial]] for trial in chosen], dtype=np.int64),
        classes=tuple(classes),
        times=np.arange(len(found.cells), dtype=np.float64) if found.times is None else found.times,
        names=found.features,
        kind=kind,
        unit=unit,
        time_unit="bin" if found.times is None else "s",
        span=span,
    )


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
