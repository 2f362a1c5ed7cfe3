"""Timing several things in turn, and what repeated measurements say: medians, ratios, intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from shortloop.base.types import FloatArray

T = TypeVar("T")


def seconds_of(work: Callable[[], Any]) -> float:
    """Wall-clock seconds that a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def interleaved(works: Mapping[str, Callable[[int], T]], runs: int) -> dict[str, list[T]]:
    """Measure several things in turn, run after run, each run beginning with another one.

    A machine that slows down for a while then slows all of them, and ratios within a run stay fair.
    """
    names = list(works)
    measured: dict[str, list[T]] = {name: [] for name in names}
    for run in range(runs):
        first = run % len(names)
        for name in names[first:] + names[:first]:
            measured[name].append(works[name](run))
    return measured


def spread(values: Sequence[float] | FloatArray) -> dict[str, Any]:
    """Median, smallest and largest of some measurements, and the measurements."""
    each = [float(value) for value in values]
    return {"median": float(np.median(each)), "min": min(each), "max": max(each), "values": each}


def ratio(numerator: Sequence[float], denominator: Sequence[float] | FloatArray) -> dict[str, Any]:
    """Spread of the ratios that two things had in each run."""
    return spread([a / b for a, b in zip(numerator, denominator, strict=True)])


def with_interval(values: Sequence[float] | FloatArray) -> dict[str, Any]:
    """Geometric mean of positive measurements with its 95 % confidence interval over runs.

    Student's t interval of the logarithms, as ratios are as often halved as doubled.
    """
    from scipy.stats import t

    logs = np.log(values)
    found: dict[str, Any] = {**spread(values), "mean": float(np.exp(logs.mean())), "low": None, "high": None}
    if len(logs) > 1:
        half = t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / np.sqrt(len(logs))
        found["low"], found["high"] = (float(np.exp(logs.mean() + sign * half)) for sign in (-1, 1))
    return found
