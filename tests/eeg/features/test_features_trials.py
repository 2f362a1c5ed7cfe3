"""Features of a trial are of that trial alone; event-related potentials are MNE's means."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_epochs import make_epochs
from eeg_recordings import CLASSES, direct, make_raw
from refusal import refusal
from scipy.stats import sem

from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.bins import baseline_samples
from shortloop.eeg.features.names import channels_of, frequencies_of
from shortloop.eeg.features.power import frequencies, power_features
from shortloop.eeg.features.settings import AmplitudeSettings, PowerSettings
from shortloop.eeg.stages.evoked import mean_and_error

KINDS: dict[str, Any] = {
    "amplitude": (amplitude_features, AmplitudeSettings(start=-0.0215)),
    "power": (power_features, PowerSettings(fmax=20, every=3, bins=9, bin_points=3)),
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
@pytest.mark.parametrize("cuts", [[0, 1, 6], [0, 3, 3, 6], [0, 1, 2, 3, 4, 5, 6]])
def test_any_split_over_trials_gives_the_same_bits(kind: str, cuts: list[int], tmp_path: Path) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    np.save(tmp_path / "data.npy", epochs.data.astype(np.float32))
    mapped = Epochs(**{**vars(epochs), "data": np.load(tmp_path / "data.npy", mmap_mode="r")})
    whole = compute(mapped, asked)
    out = np.full_like(whole.data, np.nan)
    for begin, end in itertools.pairwise(cuts):
        part = compute(mapped, asked, trials=slice(begin, end), out=out[:, begin:end])
        assert np.array_equal(part.labels, epochs.labels[begin:end])
        assert np.shares_memory(part.data, out) or begin == end
    assert out.tobytes() == whole.data.tobytes()


@each_kind
def test_neither_order_nor_place_in_memory_nor_a_bad_trial_changes_a_bit_of_others(kind: str) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    whole = compute(epochs, asked).data
    shifted = np.empty(epochs.data.size + 3)[3:].reshape(epochs.data.shape)
    shifted[:] = epochs.data
    for copy in (shifted, np.asfortranarray(epochs.data)):
        again = compute(Epochs(**{**vars(epochs), "data": copy}), asked).data
        assert again.tobytes() == whole.tobytes()
    good, data = compute(epochs, asked).data, epochs.data.copy()
    data[2] = np.nan
    bad = compute(Epochs(**{**vars(epochs), "data": data}), asked).data
    assert np.isnan(bad[:, 2]).all()
    assert np.array_equal(np.delete(bad, 2, axis=1), np.delete(good, 2, axis=1))


@each_kind
def test_an_empty_slice_describes_the_whole_and_what_cannot_be_is_refused(kind: str) -> None:
    compute, asked = KINDS[kind]
    epochs = make_epochs()
    whole, plan = compute(epochs, asked), compute(epochs, asked, trials=slice(0, 0))
    assert plan.data.shape == (len(whole.data), 0, whole.data.shape[2])
    assert plan.names == whole.names
    assert np.array_equal(plan.times, whole.times)
    with refusal("", participant="s02", field=f"features.{kind}.bins"):
        compute(make_epochs(samples=800), asked, participant="s02")  # ends at 0.06 s
    with pytest.raises(ValueError, match=r"out has shape .* the features need \(.*, 6, "):
        compute(make_epochs(), asked, out=np.empty((5, 5, 33), dtype=np.float32))


def epochs_of(cut: mne.Epochs) -> Epochs:
    names = {number: name for name, number in cut.event_id.items()}
    labels = np.array([CLASSES.index(names[number]) for number in cut.events[:, 2]])
    data = cut.get_data(picks="eeg")
    channels = ("EEG Fz", "Cz", "Pz", "O z", "C3", "A 1 ms")
    return Epochs(data, labels, CLASSES, cut.times, cut.info["sfreq"], channels)


@pytest.mark.parametrize("baseline", [None, (-0.2, 0.0)])
def test_means_and_errors_are_those_of_mne(baseline: tuple[float, float] | None) -> None:
    cut = direct(make_raw(seconds=24), baseline=baseline)
    raw = epochs_of(direct(make_raw(seconds=24)))
    window = None if baseline is None else baseline_samples(raw.times, baseline)
    for label, name in enumerate(CLASSES):
        mean, error = mean_and_error(raw, label, window)
        evoked = cut[name]
        np.testing.assert_allclose(mean, evoked.average("eeg").data, rtol=1e-7, atol=1e-15)
        expected = sem(evoked.get_data(picks="eeg"), axis=0)
        np.testing.assert_allclose(error, expected, rtol=1e-6, atol=1e-15)


def test_a_class_of_one_trial_has_no_error_and_one_of_none_no_mean() -> None:
    epochs = epochs_of(direct(make_raw()))
    few = Epochs(epochs.data[:1], np.array([1]), CLASSES, epochs.times, epochs.sfreq, epochs.channels)
    mean, error = mean_and_error(few, 1)
    np.testing.assert_array_equal(mean, epochs.data[0])
    assert np.isnan(error).all()
    assert np.isnan(mean_and_error(few, 0)).all()


def test_names_of_features_say_their_channels() -> None:
    epochs = epochs_of(direct(make_raw()))
    amplitude = AmplitudeSettings(baseline=None, start=-0.2, bins=3, bin_samples=4, step=2)
    assert channels_of(amplitude_features(epochs, amplitude).names) == epochs.channels
    power = PowerSettings(fmin=20, fmax=30, fstep=2.5, start=0.0, bins=2, bin_points=2, every=3)
    assert channels_of(power_features(epochs, power).names) == epochs.channels
    assert channels_of(["E0_freq_4_tpoint_1", "E1_freq_4_tpoint_1"]) == ()
    assert channels_of(["Cz 0 ms", "Pz 0 ms", "Cz 4 ms"]) == ()  # not channel by channel
    assert channels_of(["Cz 0 ms", "Cz 4 ms", "Pz 0 ms"]) == ()
    assert channels_of([]) == ()
    assert frequencies_of(power_features(epochs, power).names) == tuple(frequencies(power))
    assert frequencies_of(amplitude_features(epochs, amplitude).names) == ()
    assert frequencies_of(["Cz 4 Hz point 1", "Cz 5 Hz point 1", "Pz 5 Hz point 1", "Pz 4 Hz point 1"]) == ()
    assert frequencies_of(["Cz 4 Hz point 1", "Cz 0 ms"]) == ()
    assert frequencies_of([]) == ()
