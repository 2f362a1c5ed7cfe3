"""Amplitude and power features are checked against MNE and the long way round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from eeg_epochs import make_epochs
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.power import _Bank, frequencies, power_features
from shortloop.eeg.features.settings import AmplitudeSettings, PowerSettings


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
    signal = epochs.data - epochs.data[..., base].mean(axis=2, keepdims=True)
    how: dict[str, Any] = {"order": order, "ftype": "butter", "output": "sos"}
    peer = filter_data(signal, epochs.sfreq, None, lowpass, method="iir", iir_params=how, verbose=False)
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


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_agrees_with_mne_also_where_wavelets_leave_the_epoch(data: st.DataObject) -> None:
    from mne.time_frequency import tfr_array_morlet

    sfreq = data.draw(st.sampled_from([100.0, 128.0, 250.0]), "sfreq")
    every = data.draw(st.integers(1, 7), "every")
    fmin = data.draw(st.floats(6, 20), "fmin")
    asked = PowerSettings(
        fmin=fmin,
        fmax=fmin + data.draw(st.floats(0, 20), "range"),
        fstep=data.draw(st.sampled_from([0.3, 1.0, 3.0]), "fstep"),
        cycles=data.draw(st.floats(1, 5), "cycles"),
        every=every,
    )
    # MNE refuses wavelets that are longer than the epoch.
    longest = 2 * int(np.ceil(5 * asked.cycles / (2 * np.pi * fmin) * sfreq)) - 1
    samples = data.draw(st.integers(max(240, longest), 400), "samples")
    points = np.arange(data.draw(st.integers(0, samples - 1), "first"), samples, every)
    points = points[: data.draw(st.integers(1, len(points)), "points")]
    signal = np.random.default_rng(samples).standard_normal((2, 2, samples)).cumsum(axis=2) + 30
    peer = tfr_array_morlet(
        signal, sfreq, frequencies(asked), n_cycles=asked.cycles, output="power", verbose=False
    )
    got = power_of_trials(signal, sfreq, asked, points)
    np.testing.assert_allclose(got, peer[..., points], rtol=1e-9, atol=1e-11 * peer.max())


def test_agrees_with_convolution_by_hand() -> None:
    rng = np.random.default_rng(5)
    signal = rng.standard_normal((1, 1, 300))
    asked = PowerSettings(fmin=8, fmax=12, fstep=4, cycles=4, every=9)
    points = np.arange(2, 299, 9)
    got = power_of_trials(signal, 100.0, asked, points)[0, 0]
    for row, frequency in enumerate([8.0, 12.0]):
        width = 4 / (2 * np.pi * frequency)
        half = int(np.ceil(5 * width * 100)) - 1
        t = np.arange(-half, half + 1) / 100
        shape = np.exp(-(t**2) / (2 * width**2))
        wavelet = (np.exp(2j * np.pi * frequency * t) - np.exp(-2 * (np.pi * frequency * width) ** 2)) * shape
        wavelet *= np.sqrt(2 / np.sum(np.abs(wavelet) ** 2))
        for column, point in enumerate(points):
            total = sum(
                signal[0, 0, point - lag] * wavelet[half + lag]
                for lag in range(-half, half + 1)
                if 0 <= point - lag < 300
            )
            assert got[row, column] == pytest.approx(abs(total) ** 2, rel=1e-10)


def power_of_trials(data: np.ndarray, sfreq: float, asked: PowerSettings, points: np.ndarray) -> np.ndarray:
    """Power (trials, channels, frequencies, points) before it is cut into bins."""
    bank = _Bank(sfreq, asked, points)
    return np.stack([bank.power(signal) for signal in data])


@pytest.mark.parametrize("frequency", [4.0, 10.0, 23.0, 45.0])
def test_a_tone_has_its_power_at_its_frequency_and_time(frequency: float) -> None:
    times = -1.5 + np.arange(2048) / 512
    window = np.exp(-((times - 0.4) ** 2) / (2 * 0.3**2))
    signal = np.sin(2 * np.pi * frequency * times + 1) * window
    points = 5 * np.arange(100, 340)
    power = power_of_trials(signal[None, None], 512.0, PowerSettings(fmin=2, fmax=50), points)[0, 0]
    row, column = np.unravel_index(np.argmax(power), power.shape)
    assert 2 + row == pytest.approx(frequency, abs=1)
    assert times[points[column]] == pytest.approx(0.4, abs=0.03)


def test_a_constant_has_no_power_and_power_grows_with_the_square() -> None:
    signal = make_epochs().data
    asked, points = PowerSettings(), np.arange(745, 1245, 5)
    power = power_of_trials(signal, 512.0, asked, points)
    np.testing.assert_allclose(power_of_trials(-3 * signal, 512.0, asked, points), 9 * power, rtol=1e-9)
    offset = power_of_trials(np.ones((1, 1, 2048)), 512.0, asked, points)
    assert offset.max() < 1e-9 * power_of_trials(signal / signal.std(), 512.0, asked, points).max()


def test_features_are_ordered_by_channel_frequency_and_point() -> None:
    from mne.time_frequency import tfr_array_morlet

    epochs = make_epochs(trials=4)
    asked = PowerSettings(fmin=5, fmax=20, fstep=2.5, every=4, start=0.1, bins=6, bin_points=3)
    got = power_features(epochs, asked)
    freqs = [5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0]
    peer = tfr_array_morlet(epochs.data, 512.0, freqs, n_cycles=5.0, output="power", decim=4, verbose=False)
    first = np.argmin(abs(epochs.times[::4] - 0.1))
    assert got.data.shape == (6, 4, 3 * 7 * 3)
    for one in range(6):
        for trial in range(4):
            column = 0
            for channel in range(3):
                for row, frequency in enumerate(freqs):
                    for point in range(3):
                        value = peer[trial, channel, row, first + 3 * one + point]
                        assert got.data[one, trial, column] == pytest.approx(value, rel=1e-6)
                        assert got.names[column] == f"E{channel} {frequency:g} Hz point {point + 1}"
                        column += 1
    assert got.times[0] == pytest.approx(epochs.times[4 * (first + 1)])


def test_the_published_size() -> None:
    epochs = make_epochs(trials=2, channels=31)
    got = power_features(epochs, PowerSettings(start=-0.045))
    assert got.data.shape == (20, 2, 6510)
    assert got.data.dtype == np.float32
    assert got.data.flags.c_contiguous
    assert (got.kind, got.unit, len(set(got.names))) == ("power", "V²", 6510)
    # Point 150, counted from 1, of a grid of 9.765625 ms; the bin's centre is two points later.
    assert got.times[0] == pytest.approx(-1.5 + (149 + 2) * 0.009765625)
    assert got.times[1] - got.times[0] == pytest.approx(5 * 0.009765625)


@pytest.mark.parametrize(
    ("fmin", "fmax", "fstep", "expected"),
    [
        (4, 45, 1, list(range(4, 46))),
        (4, 4, 1, [4]),
        (1, 2, 0.1, [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2]),
        (4, 9.9, 3, [4, 7]),
    ],
)
def test_frequencies_include_the_last_that_a_step_reaches(
    fmin: float, fmax: float, fstep: float, expected: list[float]
) -> None:
    np.testing.assert_allclose(frequencies(PowerSettings(fmin=fmin, fmax=fmax, fstep=fstep)), expected)
