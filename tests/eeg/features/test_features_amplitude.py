"""Amplitude features are the demeaned, low-passed signal: checked against MNE and the long way round."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from shortloop.base.errors import InputError
from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.settings import AmplitudeSettings


def make_epochs(
    trials: int = 6,
    channels: int = 3,
    samples: int = 2048,
    *,
    sfreq: float = 512.0,
    tmin: float = -1.5,
    seed: int = 0,
) -> Epochs:
    rng = np.random.default_rng(seed)
    drift = np.cumsum(rng.standard_normal((trials, channels, samples)), axis=2)
    return Epochs(
        data=1e-6 * (drift + 50 * rng.standard_normal((trials, channels, 1))),
        labels=np.arange(trials) % 2,
        classes=("face", "object"),
        times=tmin + np.arange(samples) / sfreq,
        sfreq=sfreq,
        channels=tuple(f"E{number}" for number in range(channels)),
    )


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


@pytest.mark.parametrize("cuts", [[0, 1, 6], [0, 3, 3, 6], [0, 1, 2, 3, 4, 5, 6]])
def test_any_split_over_trials_gives_the_same_bits(cuts: list[int], tmp_path: object) -> None:
    epochs = make_epochs()
    np.save(f"{tmp_path}/data.npy", epochs.data.astype(np.float32))
    mapped = Epochs(**{**vars(epochs), "data": np.load(f"{tmp_path}/data.npy", mmap_mode="r")})
    asked = AmplitudeSettings(start=-0.0215)
    whole = amplitude_features(mapped, asked)
    out = np.full_like(whole.data, np.nan)
    for begin, end in itertools.pairwise(cuts):
        part = amplitude_features(mapped, asked, trials=slice(begin, end), out=out[:, begin:end])
        assert np.array_equal(part.labels, epochs.labels[begin:end])
        assert np.shares_memory(part.data, out) or begin == end
    assert out.tobytes() == whole.data.tobytes()


def test_an_empty_slice_describes_the_whole() -> None:
    epochs = make_epochs()
    asked = AmplitudeSettings(start=-0.0215)
    whole, plan = amplitude_features(epochs, asked), amplitude_features(epochs, asked, trials=slice(0, 0))
    assert plan.data.shape == (40, 0, 33)
    assert plan.names == whole.names
    assert np.array_equal(plan.times, whole.times)


def test_a_bad_trial_does_not_touch_the_others() -> None:
    epochs = make_epochs()
    good = amplitude_features(epochs, AmplitudeSettings()).data
    data = epochs.data.copy()
    data[2] = np.nan
    bad = amplitude_features(Epochs(**{**vars(epochs), "data": data}), AmplitudeSettings()).data
    assert np.isnan(bad[:, 2]).all()
    assert np.array_equal(np.delete(bad, 2, axis=1), np.delete(good, 2, axis=1))


def test_what_cannot_be_is_refused() -> None:
    epochs = make_epochs(samples=1000)  # ends at 0.45 s
    with pytest.raises(InputError) as caught:
        amplitude_features(epochs, AmplitudeSettings(), participant="s02")
    assert (caught.value.where["participant"], caught.value.field) == ("s02", "features.amplitude.bins")
    with pytest.raises(ValueError, match=r"out has shape .* the features need \(5, 6, 33\)"):
        amplitude_features(epochs, AmplitudeSettings(bins=5), out=np.empty((5, 5, 33), dtype=np.float32))
