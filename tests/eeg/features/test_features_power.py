"""Power features are Morlet wavelet power: checked against MNE, convolution by hand and known tones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.features.power import _Bank, frequencies, power_features
from shortloop.eeg.features.settings import PowerSettings


def make_epochs(
    trials: int = 4,
    channels: int = 3,
    samples: int = 2048,
    *,
    sfreq: float = 512.0,
    tmin: float = -1.5,
    seed: int = 0,
) -> Epochs:
    rng = np.random.default_rng(seed)
    return Epochs(
        data=1e-6 * np.cumsum(rng.standard_normal((trials, channels, samples)), axis=2),
        labels=np.arange(trials) % 2,
        classes=("face", "object"),
        times=tmin + np.arange(samples) / sfreq,
        sfreq=sfreq,
        channels=tuple(f"E{number}" for number in range(channels)),
    )


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
    bank = _Bank.build(sfreq, asked, points)
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

    epochs = make_epochs()
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


@settings(max_examples=15, deadline=None)
@given(cuts=st.lists(st.integers(0, 7), max_size=6), channels=st.integers(1, 5), seed=st.integers(0, 99))
def test_any_split_over_trials_gives_the_same_bits(cuts: list[int], channels: int, seed: int) -> None:
    epochs = make_epochs(7, channels, 600, sfreq=128.0, seed=seed)
    asked = PowerSettings(fmin=4, fmax=40, every=3, bins=9, bin_points=3)
    whole = power_features(epochs, asked)
    out = np.full_like(whole.data, np.nan)
    edges = sorted({0, *cuts, 7})
    for begin, end in itertools.pairwise(edges):
        part = power_features(epochs, asked, trials=slice(begin, end), out=out[:, begin:end])
        assert np.array_equal(part.labels, epochs.labels[begin:end])
    assert out.tobytes() == whole.data.tobytes()


def test_neither_where_the_signal_lies_in_memory_nor_its_order_changes_a_bit() -> None:
    epochs = make_epochs()
    whole = power_features(epochs, PowerSettings()).data
    shifted = np.empty(epochs.data.size + 3)[3:].reshape(epochs.data.shape)
    shifted[:] = epochs.data
    for copy in (shifted, np.asfortranarray(epochs.data)):
        again = power_features(Epochs(**{**vars(epochs), "data": copy}), PowerSettings()).data
        assert again.tobytes() == whole.tobytes()


def test_an_empty_slice_describes_the_whole() -> None:
    epochs = make_epochs()
    whole = power_features(epochs, PowerSettings())
    plan = power_features(epochs, PowerSettings(), trials=slice(0, 0))
    assert plan.data.shape == (20, 0, 3 * 42 * 5)
    assert plan.names == whole.names
    assert np.array_equal(plan.times, whole.times)


def test_a_bad_trial_does_not_touch_the_others() -> None:
    epochs = make_epochs()
    data = epochs.data.copy()
    data[1] = np.nan
    good = power_features(epochs, PowerSettings()).data
    bad = power_features(Epochs(**{**vars(epochs), "data": data}), PowerSettings()).data
    assert np.isnan(bad[:, 1]).all()
    assert np.array_equal(np.delete(bad, 1, axis=1), np.delete(good, 1, axis=1))


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


def test_what_cannot_be_is_refused() -> None:
    epochs = make_epochs(samples=1100)  # ends at 0.65 s
    with pytest.raises(InputError) as caught:
        power_features(epochs, PowerSettings(), participant="s02")
    assert (caught.value.where["participant"], caught.value.field) == ("s02", "features.power.bins")
    with pytest.raises(ValueError, match=r"out has shape"):
        power_features(epochs, PowerSettings(bins=5), out=np.empty((5, 4, 7), dtype=np.float32))
