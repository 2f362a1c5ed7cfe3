"""Event-related potentials are the means that MNE gives, and names of features say their channels."""

from __future__ import annotations

import mne
import numpy as np
import pytest
from eeg_recordings import CLASSES, direct, make_raw
from scipy.stats import sem

from shortloop.eeg.data import Epochs
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.bins import baseline_samples
from shortloop.eeg.features.names import channels_of, frequencies_of
from shortloop.eeg.features.power import frequencies, power_features
from shortloop.eeg.features.settings import AmplitudeSettings, PowerSettings
from shortloop.eeg.stages.evoked import mean_and_error


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
