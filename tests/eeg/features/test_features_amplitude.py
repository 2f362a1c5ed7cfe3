"""Amplitude features are the demeaned, low-passed signal: checked against MNE and the long way round."""

from __future__ import annotations

import numpy as np
import pytest
from eeg_epochs import make_epochs

from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.settings import AmplitudeSettings


def test_without_filter_it_is_the_signal_less_its_baseline_in_the_published_order() -> None:
    epochs = make_epochs()
    asked = AmplitudeSettings(lowpass=None, start=0.1, bins=7, bin_samples=4, step=3)
    got = amplitude_features(epochs, asked)
    start = min(range(2048), key=lambda sample: abs(epochs.times[sample] - 0.1))
    for trial in range(6):
        for channel in range(3):
            signal = epochs.data[trial, channel]
            mean = np.mean([signal[i] for i in range(2048) if -0.2 <= epochs.times[i] <= 0.0])
            for one in range(7):
                for sample in range(4):
                    value = signal[start + 3 * (4 * one + sample)] - mean
                    assert got.data[one, trial, channel * 4 + sample] == np.float32(value)


@pytest.mark.parametrize(("order", "lowpass"), [(6, 30.0), (4, 12.5), (3, 100.0)])
def test_filter_agrees_with_mne_away_from_the_ends(order: int, lowpass: float) -> None:
    from mne.filter import filter_data

    epochs = make_epochs()
    asked = AmplitudeSettings(lowpass=lowpass, order=order, start=-0.4, bins=100, bin_samples=7)
    got = amplitude_features(epochs, asked)
    base = (epochs.times >= -0.2) & (epochs.times <= 0)
    peer = filter_data(
        epochs.data - epochs.data[..., base].mean(axis=2, keepdims=True),
        epochs.sfreq,
        None,
        lowpass,
        method="iir",
        iir_params={"order": order, "ftype": "butter", "output": "sos"},
        verbose=False,
    )
    first = np.argmin(abs(epochs.times + 0.4))
    expected = peer[:, :, first : first + 700].reshape(6, 3, 100, 7).transpose(2, 0, 1, 3).reshape(100, 6, 21)
    np.testing.assert_allclose(got.data, expected, rtol=2e-6, atol=1e-12)


@pytest.mark.parametrize("frequency", [5.0, 20.0, 30.0, 40.0, 90.0])
def test_a_tone_keeps_its_phase_and_is_weakened_as_theory_says(frequency: float) -> None:
    epochs = make_epochs(trials=1, channels=1, samples=4096, tmin=-4.0)
    tone = np.sin(2 * np.pi * frequency * epochs.times + 0.3)
    asked = AmplitudeSettings(baseline=None, start=-1.0, bins=1, bin_samples=1000)
    got = amplitude_features(Epochs(**{**vars(epochs), "data": tone[None, None]}), asked).data[0, 0]
    # |H|² of a Butterworth filter made by the bilinear transform; two passes multiply |H| by itself.
    ratio = np.tan(np.pi * frequency / 512) / np.tan(np.pi * 30 / 512)
    first = np.argmin(abs(epochs.times + 1.0))
    np.testing.assert_allclose(got, tone[first : first + 1000] / (1 + ratio**12), atol=1e-6)


def test_the_published_size_and_names() -> None:
    epochs = make_epochs(trials=4, channels=31)
    asked = AmplitudeSettings(start=-0.0215)
    got = amplitude_features(epochs, asked)
    assert got.data.shape == (40, 4, 341)
    assert got.data.dtype == np.float32
    assert got.data.flags.c_contiguous
    assert (got.kind, got.unit, got.time_unit, got.classes) == ("amplitude", "V", "s", ("face", "object"))
    assert len(set(got.names)) == 341
    assert got.names[:3] == ("E0 0 ms", "E0 2 ms", "E0 4 ms")
    assert got.names[340] == "E30 20 ms"
    np.testing.assert_allclose(got.times, -1.5 + (757 + 5 + 11 * np.arange(40)) / 512)


@pytest.mark.parametrize("sfreq", [64.0, 1000.0, 2048.0, 10000.0, 1000 / 0.75])
def test_names_tell_features_apart_at_any_sampling_rate(sfreq: float) -> None:
    epochs = make_epochs(trials=1, samples=600, sfreq=sfreq, tmin=0.0)
    got = amplitude_features(epochs, AmplitudeSettings(baseline=None, start=0.0, bins=2, bin_samples=100))
    assert len(set(got.names)) == 300
