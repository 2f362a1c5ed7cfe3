"""The simulated experiment has the truth that it says it has."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from jobs_project import ROOT, fresh_python
from refusal import refusal
from scipy import signal, stats

from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.read import read_epochs
from shortloop.eeg.formats.simulated import SimulatedInput

CLASSES = ("face", "landmark", "object")


def simulate(participant: str = "S01", phase: str = "study", seed: int = 7, **settings: Any) -> Epochs:
    training = settings.pop("training", phase == "study")
    who: dict[str, Any] = {"participant": participant, "phase": phase, "seed": seed, "training": training}
    return read_epochs(SimulatedInput(format="simulated", **settings), (), classes=CLASSES, **who)


def digest(epochs: Epochs) -> str:
    return hashlib.sha256(epochs.data.tobytes() + epochs.labels.tobytes()).hexdigest()


def anova(epochs: Epochs, values: np.ndarray) -> np.ndarray:
    return stats.f_oneway(*(values[epochs.labels == label] for label in range(len(CLASSES)))).pvalue


@pytest.mark.parametrize("channels", [1, 16, 40])
def test_shape_units_and_labels(channels: int) -> None:
    epochs = simulate(trials=11, channels=channels, sfreq=100.0, tmin=-0.3, tmax=0.7)
    assert epochs.data.shape == (33, channels, 101)
    assert np.bincount(epochs.labels).tolist() == [11, 11, 11]
    assert not np.array_equal(epochs.labels, np.sort(epochs.labels))
    assert len(set(epochs.channels)) == channels
    np.testing.assert_allclose(epochs.times, np.linspace(-0.3, 0.7, 101), atol=1e-12)
    assert 0.0 in epochs.times
    assert epochs.unit == "V"
    assert 7e-6 < epochs.data.std() < 14e-6


@pytest.mark.parametrize(("phase", "start", "stop"), [("study", 0.1, 0.4), ("test", 0.35, 0.65)])
def test_the_effect_is_added_in_its_window_and_nowhere_else(phase: str, start: float, stop: float) -> None:
    with_effect, without = simulate(phase=phase), simulate(phase=phase, strength=0.0)
    difference = np.abs(with_effect.data - without.data).max(axis=(0, 1))
    inside = (with_effect.times > start) & (with_effect.times < stop)
    assert np.all(difference[~inside] == 0)
    assert np.all(difference[inside] > 0)
    np.testing.assert_array_equal(with_effect.labels, without.labels)


def test_strength_and_weakening_scale_the_effect() -> None:
    null = simulate(phase="test", strength=0.0).data
    full = simulate(phase="test", weakening=1.0).data - null
    other = simulate(phase="test", strength=2.0, weakening=0.3).data - null
    np.testing.assert_allclose(other, 0.6 * full, atol=1e-18)


def test_the_burst_is_induced() -> None:
    epochs = simulate(strength=2.0)
    # What is left without the class averages has no evoked effect: only the power can tell the classes.
    residual = epochs.data.copy()
    for label in range(len(CLASSES)):
        residual[epochs.labels == label] -= residual[epochs.labels == label].mean(axis=0)
    sos = signal.butter(4, (14, 26), "bandpass", fs=epochs.sfreq, output="sos")
    power = np.abs(signal.hilbert(signal.sosfiltfilt(sos, residual))) ** 2
    p = anova(epochs, power)
    middle, early = np.argmin(np.abs(epochs.times - 0.25)), np.argmin(np.abs(epochs.times + 0.3))
    assert p[:, middle].min() < 1e-6
    assert p[:, early].min() > 0.01 / len(p)
    # Phases are random: the burst averages out, so 20 Hz is far weaker in the average than in the trials.
    average = np.abs(signal.hilbert(signal.sosfiltfilt(sos, epochs.data.mean(axis=0)))) ** 2
    assert average[:, middle].mean() < 0.2 * power[:, :, middle].mean()


def test_strength_0_is_a_null_study() -> None:
    p = [
        float(anova(epochs, epochs.data[:, 2, 190]))
        for participant in range(60)
        for epochs in [simulate(f"S{participant}", strength=0.0, trials=10, channels=4)]
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_same_seed_same_bits_in_any_process() -> None:
    np.random.seed(1)  # noqa: NPY002, global state must not matter
    here = digest(simulate(trials=4))
    np.random.seed(2)  # noqa: NPY002
    assert digest(simulate(trials=4)) == here
    code = f"""
import hashlib
from shortloop.eeg.formats.simulated import SimulatedInput
how = {{"participant": "S01", "phase": "study", "classes": {CLASSES!r}, "seed": 7, "training": True}}
e = SimulatedInput(format="simulated", trials=4).generate(**how)
print(hashlib.sha256(e.data.tobytes() + e.labels.tobytes()).hexdigest())"""
    assert fresh_python(code, ROOT, PYTHONHASHSEED="12345").strip() == here


def test_noise_is_of_each_participant_phase_and_seed_and_falls_as_one_over_f() -> None:
    kinds: list[dict[str, Any]] = [{}, {"participant": "S02"}, {"phase": "test"}, {"seed": 8}]
    each = [simulate(strength=0.0, **kind) for kind in kinds]
    flat = np.array([epochs.data[:, :, 0].ravel() for epochs in each])
    assert np.abs(np.corrcoef(flat) - np.eye(4)).max() < 4 / np.sqrt(flat.shape[1])
    assert len({epochs.labels.tobytes() for epochs in each}) == 4
    epochs = simulate(strength=0.0, tmin=-2.0, tmax=2.0, channels=8, trials=20)
    freqs, power = signal.welch(epochs.data, epochs.sfreq, nperseg=512)
    keep = (freqs >= 2) & (freqs <= 20)
    assert -1.15 < stats.linregress(np.log(freqs[keep]), np.log(power.mean(axis=(0, 1))[keep])).slope < -0.8


def topographies(epochs: Epochs, time: float) -> np.ndarray:
    sample = int(np.argmin(np.abs(epochs.times - time)))
    means = np.array([epochs.data[epochs.labels == label, :, sample].mean(axis=0) for label in range(3)])
    return (means - means.mean(axis=0)).ravel()


def test_patterns_are_the_same_at_test_but_not_in_another_participant() -> None:
    study = topographies(simulate(strength=6.0), 0.25)
    test = topographies(simulate(phase="test", strength=6.0), 0.5)
    other = topographies(simulate("S02", strength=6.0), 0.25)
    assert np.corrcoef(study, test)[0, 1] > 0.9
    assert abs(np.corrcoef(study, other)[0, 1]) < 0.6


@pytest.mark.parametrize(
    ("settings", "phase", "field"),
    [
        ({"onset": 0.4, "offset": 0.4}, "study", "input.onset"),
        ({"delay": 3.0}, "test", "input.onset"),
        ({"tmin": 0.5, "tmax": 0.2}, "study", "input.tmax"),
    ],
)
def test_a_window_outside_the_epochs_is_an_error(settings: dict[str, Any], phase: str, field: str) -> None:
    with refusal("", field=field):
        simulate(phase=phase, **settings)
