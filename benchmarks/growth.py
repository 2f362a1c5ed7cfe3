"""Time and peak memory against participants, bins, trials, features and permutations, by factors of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.measure import exponent, interleaved, seconds_of, spread
from benchmarks.memory import measured_alone
from benchmarks.options import Options
from benchmarks.write import figures
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics
from shortloop.types import FloatArray

__all__ = ["Work", "run"]

SMALLEST = 1e-3  # a millisecond, a kilobyte: below, nothing is measured
STAGES = ("train", "apply", "permute", "group")


@dataclass(frozen=True)
class Work:
    """Size of an analysis.

    Parameters
    ----------
    participants, bins : int
    trials : int
        Per class and phase.
    features : int
        Per bin.
    permutations : int
    """

    participants: int
    bins: int
    trials: int
    features: int
    permutations: int


BASE = Work(participants=2, bins=8, trials=30, features=1000, permutations=200)
QUICK = Work(participants=1, bins=2, trials=14, features=60, permutations=20)


def run(options: Options) -> dict[str, Any]:
    """Let each of the five sizes grow while the others stay.

    Parameters
    ----------
    options : Options

    Returns
    -------
    dict
        ``ladders``: for each size its ``values`` and, of the whole and of each stage, ``seconds`` and the
        fitted exponent; of the whole also ``peak_mb``; ``tables``.
    """
    ours.ready()
    base, steps = (QUICK, 3) if options.quick else (BASE, 5)
    _analyse(base)  # compiles and imports what is left
    ladders: dict[str, Any] = {}
    for size, smallest in asdict(base).items():
        values = [smallest * 2**step for step in range(steps)]
        details: dict[int, list[dict[str, float]]] = {value: [] for value in values}
        works: dict[str, Callable[[int], float]] = {
            str(value): partial(_measure, replace(base, **{size: value}), details[value]) for value in values
        }
        interleaved(works, options.runs)
        ladders[size] = _ladder(details)
    result = {"base": asdict(base), "ladders": ladders}
    return {**result, "tables": _tables(result)}


def _measure(work: Work, details: list[dict[str, float]], run: int) -> float:
    stages, peak = measured_alone(lambda: _analyse(work))
    details.append({**stages, "whole": sum(stages.values()), "peak_mb": peak})
    return float(details[-1]["whole"])


def _analyse(work: Work) -> dict[str, float]:
    """Seconds of the stages; the data are made before each participant's clock starts."""
    seconds = dict.fromkeys(STAGES, 0.0)
    labels = np.repeat(np.arange(ours.N_CLASSES), work.trials)
    folds = ours.folds_of(labels)
    observed, null = [], []
    kept: dict[str, Any] = {}
    for participant in range(work.participants):
        study, test = (_noise(work, participant, phase) for phase in range(2))

        def train(study: FloatArray = study) -> None:
            kept["models"] = ours.applied_models([ours.train(x, labels, folds) for x in study])

        def apply(test: FloatArray = test) -> None:
            kept["votes"] = np.stack([ours.apply(x, kept["models"]) for x in test])

        def permute() -> None:
            scores = ours.permute(kept["votes"], labels, work.permutations + 1)
            observed.append(scores[0])
            null.append(scores[1:])

        for stage, step in (("train", train), ("apply", apply), ("permute", permute)):
            seconds[stage] += seconds_of(step)
    seconds["group"] = seconds_of(
        lambda: group_statistics(
            np.stack(observed),
            null,
            chance=100 / ours.N_CLASSES,
            settings=GroupSettings(),
            seed=np.random.SeedSequence(0),
        )
    )
    return seconds


def _noise(work: Work, participant: int, phase: int) -> FloatArray:
    rng = np.random.default_rng(np.random.SeedSequence([participant, phase]))
    return rng.standard_normal((work.bins, ours.N_CLASSES * work.trials, work.features))


def _ladder(details: dict[int, list[dict[str, float]]]) -> dict[str, Any]:
    found: dict[str, Any] = {"values": list(details)}
    points = [(size, run) for size, runs in details.items() for run in runs]
    for name in (*STAGES, "whole", "peak_mb"):
        found[name] = {
            "measured": [spread([run[name] for run in runs]) for runs in details.values()],
            **exponent([size for size, _ in points], [max(run[name], SMALLEST) for _, run in points]),
        }
    return found


def _tables(result: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for size, ladder in result["ladders"].items():
        values = ladder["values"]
        ends = [figures(ladder["whole"]["measured"][at], "s") for at in (0, -1)]
        peaks = [f"{ladder['peak_mb']['measured'][at]['median']:.0f} MB" for at in (0, -1)]
        fits = [_fitted(ladder[name]) for name in ("whole", "train", "apply", "permute", "group", "peak_mb")]
        where = f"{values[0]}–{values[-1]}"
        rows.append([size, where, " → ".join(ends), *fits[:5], " → ".join(peaks), fits[5]])
    base = ", ".join(f"{value} {name}" for name, value in result["base"].items())
    return [
        {
            "title": "Growth: fitted exponents, with 95 % intervals",
            "columns": ["of", "from–to", "seconds", "whole", *STAGES, "peak memory", "its exponent"],
            "rows": rows,
            "note": f"The others stay at {base} (trials of each of 3 classes, in each of 2 phases). One "
            "core; noise, so few features are kept. Memory is what a process of its own takes on top of the "
            "libraries, features included.",
        }
    ]


def _fitted(fit: dict[str, Any]) -> str:
    interval = "" if fit["low"] is None else f" ({fit['low']:.2f}–{fit['high']:.2f})"
    return f"{fit['exponent']:.2f}{interval}"
