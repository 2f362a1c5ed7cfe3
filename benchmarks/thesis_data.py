"""Simulated participants of the thesis's size, as arrays or as the .mat files that its stages pass on.

Noise drifts slowly and is shared between features; each class adds a pattern to one feature in ten during
a quarter of the bins, weaker at test than at study.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from shortloop.base.types import FloatArray, IntArray

CLASSES = ("Face", "Landmark", "Object")
SOURCES = 40
SEED = 2021


@dataclass(frozen=True)
class Size:
    """Size of one participant's data.

    trials: per class and phase.
    bins, amplitude_bins: time bins of power and of amplitude features.
    channels, frequencies, points, amplitude_points: power features are channels × frequencies × points,
        amplitude features channels × amplitude_points.
    """

    trials: int = 80
    bins: int = 20
    amplitude_bins: int = 40
    channels: int = 31
    frequencies: int = 42
    points: int = 5
    amplitude_points: int = 11

    @property
    def power_features(self) -> int:
        """Number of power features of a bin."""
        return self.channels * self.frequencies * self.points

    @property
    def amplitude_features(self) -> int:
        """Number of amplitude features of a bin."""
        return self.channels * self.amplitude_points

    @property
    def megabytes(self) -> float:
        """Features of one participant in double precision."""
        cells = 2 * self.bins * self.power_features + self.amplitude_bins * self.amplitude_features
        return 3 * self.trials * cells * 8 / 1e6


THESIS = Size()
QUICK = Size(trials=20, bins=3, amplitude_bins=4, channels=5, frequencies=6, points=3, amplitude_points=9)


@dataclass(frozen=True)
class Participant:
    """Features of one participant.

    study, test: float, (bins, trials, power features). Power of both phases.
    amplitude: float, (amplitude bins, trials, amplitude features). Amplitude at study.
    labels: int, (trials,). Class of each trial, in all three.
    """

    study: FloatArray
    test: FloatArray
    amplitude: FloatArray
    labels: IntArray


def simulate(number: int, size: Size = THESIS) -> Participant:
    """One participant, the same whenever it is asked for."""
    rng = np.random.default_rng(np.random.SeedSequence([SEED, number]))
    labels = np.repeat(np.arange(len(CLASSES)), size.trials)
    power = _patterns(rng, size.power_features)
    amplitude = _patterns(rng, size.amplitude_features)
    return Participant(
        study=np.exp(0.4 * _signal(rng, labels, size.bins, 0.45 * power)),  # power is positive
        test=np.exp(0.4 * _signal(rng, labels, size.bins, 0.35 * power)),
        amplitude=_signal(rng, labels, size.amplitude_bins, 0.6 * amplitude),
        labels=labels,
    )


def write_study(folder: Path, participants: int, size: Size = THESIS) -> list[str]:
    """Write the .mat files of a study, or find that they are there already."""
    names = [f"Subj{number:02d}" for number in range(1, participants + 1)]
    made = {name: folder / name / "made.json" for name in names}
    wanted = json.dumps({"seed": SEED, **asdict(size)})
    missing = [n for n, f in made.items() if not f.exists() or f.read_text(encoding="utf-8") != wanted]
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the data themselves, a run keeps them in its jobs, with models and votes.
    needed = (len(missing) + 1.5 * participants) * size.megabytes * 1e6
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise SystemExit(
            f"{needed / 1e9:.0f} GB of disk are needed, {free / 1e9:.0f} GB are free: ask for less"
        )
    for name in missing:
        _write_participant(folder / name / "6-ClassificationData", name, size)
        made[name].write_text(wanted, encoding="utf-8")
    return names


def _write_participant(folder: Path, name: str, size: Size) -> None:
    from scipy.io import savemat

    folder.mkdir(parents=True, exist_ok=True)
    person = simulate(int(name[-2:]), size)
    for ending, values, frequencies in (
        ("study_data", person.study, size.frequencies),
        ("test_data_visual", person.test, size.frequencies),
        ("study_data_amp", person.amplitude, 0),
    ):
        cells = np.empty(len(values), dtype=object)
        for index, cell in enumerate(values):
            cells[index] = cell
        struct = {
            "category": person.labels + 1.0,
            "category_name": np.array(CLASSES, dtype=object)[person.labels],
            "feature_name": np.array(_feature_names(size, frequencies), dtype=object),
            "feature": cells,
            "numclassifiers": float(len(values)),
        }
        savemat(folder / f"{name}_{ending}.mat", {f"{name}_{ending}": struct}, do_compression=False)


def _feature_names(size: Size, frequencies: int) -> list[str]:
    if not frequencies:
        return [f"E{c}_tpoint_{t + 1}" for c in range(size.channels) for t in range(size.amplitude_points)]
    return [
        f"E{c}_freq_{f + 4}_tpoint_{t + 1}"
        for c in range(size.channels)
        for f in range(frequencies)
        for t in range(size.points)
    ]


def _patterns(rng: np.random.Generator, features: int) -> FloatArray:
    shape = (len(CLASSES), features)
    return rng.standard_normal(shape) * (rng.random(shape) < 0.1)


def _signal(rng: np.random.Generator, labels: IntArray, bins: int, patterns: FloatArray) -> FloatArray:
    features = patterns.shape[1]
    mixing = 0.25 * rng.standard_normal((SOURCES, features), dtype=np.float32)
    sources = rng.standard_normal((len(labels), SOURCES), dtype=np.float32)
    signal = np.empty((bins, len(labels), features))
    for index in range(bins):
        fresh = rng.standard_normal(sources.shape, dtype=np.float32)
        sources = np.float32(0.9) * sources + np.float32(np.sqrt(1 - 0.9**2)) * fresh
        signal[index] = sources @ mixing
        signal[index] += rng.standard_normal((len(labels), features), dtype=np.float32)
        if bins // 4 <= index < max(bins // 2, bins // 4 + 1):
            signal[index] += patterns[labels]
    return signal
