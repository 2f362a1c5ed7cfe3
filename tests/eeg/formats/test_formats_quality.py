"""Flat channels, copies of channels and impossible amplitudes are told of, and do not stop a run."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import exported, make_raw, read

from shortloop.base.errors import InputError
from shortloop.eeg.checks.recording import typical_amplitude, warn_of_quality
from shortloop.eeg.data import Epochs


def said(data: np.ndarray, unit: str = "V") -> list[str]:
    names = tuple(f"E{number}" for number in range(1, data.shape[1] + 1))
    times = np.arange(data.shape[2]) / 100
    labels = np.arange(len(data)) % 2
    epochs = Epochs(data, labels, ("a", "b"), times, 100.0, names, unit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_quality(epochs, participant="S1", phase="study")
    return [str(each.message) for each in caught]


@pytest.fixture
def good() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((20, 4, 50)) * 1e-5


def warned(kind: str, file: Path, **given: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(kind, [file], **given)
    return [text for each in caught if "annotated as BAD_blink" not in (text := str(each.message))]


def test_a_good_recording_says_nothing(good: np.ndarray) -> None:
    assert said(good) == []
    assert said(good + 0.3) == []  # an offset, as of amplifiers for direct current
    assert said((good * 1e6).astype(np.float32), "µV") == []


def test_channels_of_very_different_size_are_not_flat(good: np.ndarray) -> None:
    good[:, 1] *= 1e-8  # T beside V
    assert said(good) == []


@pytest.mark.parametrize("value", [0.0, 0.1875, -3e-5])
def test_a_channel_that_is_flat_throughout(good: np.ndarray, value: float) -> None:
    good[:, 2] = value
    (text,) = said(good)
    assert text.startswith("channel E3 is flat in all 20 trials: a reference, or")
    assert "input.drop" in text
    assert "input.preprocessing.bads.S1" in text


def test_what_filters_leave_of_a_constant_is_flat(good: np.ndarray) -> None:
    raw = make_raw()
    raw._data[1] = 0.1875
    raw.filter(1.0, 30.0, verbose="ERROR")
    assert np.ptp(raw._data[1]) > 0  # rounding
    data = np.stack([raw._data[:, start : start + 200] for start in range(0, 2000, 200)])
    (text,) = said(data)
    assert text.startswith("channel E2 is flat in all 10 trials")


def test_channels_that_are_flat_in_most_trials(good: np.ndarray) -> None:
    good[:12, 0] = 1e-5
    good[:9, 1] = 0  # less than half: rejection by flatness is for that
    (text,) = said(good)
    assert text.startswith("channel E1 is flat in 12 of 20 trials: a loose electrode")


def test_trials_without_any_signal(good: np.ndarray) -> None:
    good[[3, 7]] = 0
    (text,) = said(good)
    assert text.startswith("2 of 20 trials are flat in all channels, the first is trial 4")


def test_nothing_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="nothing was recorded in the study phase"):
        said(np.zeros((4, 2, 10)))


def test_a_channel_that_is_a_copy(good: np.ndarray) -> None:
    good[:, 3] = good[:, 1]
    (text,) = said(good)
    assert text.startswith("channels are copies of others: E4 of E2")


def test_two_flat_channels_are_no_copies(good: np.ndarray) -> None:
    good[:, 1] = good[:, 2] = 0
    (text,) = said(good)
    assert text.startswith("channels E2, E3 are flat in all 20 trials")


@pytest.mark.parametrize(
    ("scale", "text"), [(1e6, "more than any brain gives"), (1e-6, "noise of an amplifier")]
)
def test_samples_in_another_unit_than_v(good: np.ndarray, scale: float, text: str) -> None:
    (found,) = said(good * scale)
    assert text in found
    assert "input.unit" in found
    assert said(good * scale, "a.u.") == []


def test_the_size_of_a_signal_is_without_its_offset(good: np.ndarray) -> None:
    assert typical_amplitude(good) == pytest.approx(1e-5, rel=0.1)
    assert typical_amplitude(good + 1) == pytest.approx(typical_amplitude(good))


def test_files_with_such_channels(tmp_path: Path) -> None:
    raw = make_raw()
    raw._data[2] = 0
    raw._data[4] = raw._data[3]
    file = exported(raw, tmp_path / "S1_raw.fif")
    texts = warned("fif", file)
    assert any(text.startswith("channel Pz is flat in all ") for text in texts)
    assert any("copies of others: C3 of Oz" in text for text in texts)
    # The remedies that it names.
    assert not warned("fif", file, drop=("Pz", "C3"))
    raw.set_montage(mne.channels.make_standard_montage("standard_1020"), on_missing="ignore")
    file = exported(raw, tmp_path / "S1_raw.fif")
    bads = {"bads": {"S1": ("Pz", "C3")}, "interpolate": True}
    assert not [text for text in warned("fif", file, preprocessing=bads) if "flat" in text or "cop" in text]


def test_magnetic_fields_are_in_their_own_units(tmp_path: Path) -> None:
    raw = make_raw()
    raw.set_channel_types(dict.fromkeys(raw.ch_names[:6], "mag"), verbose="ERROR", on_unit_change="ignore")
    raw._data[:6] *= 1e-7
    file = exported(raw, tmp_path / "S1_raw.fif")
    assert read("fif", [file]).unit == "T"
    assert not warned("fif", file)
    raw.set_channel_types({"Fz": "grad"}, verbose="ERROR", on_unit_change="ignore")
    assert read("fif", [exported(raw, file)], picks=("grad",)).unit == "T/m"


def test_channels_of_codes_and_counters_are_told_of(tmp_path: Path) -> None:
    raw = make_raw()
    codes, counter = np.zeros(raw.n_times), np.arange(raw.n_times) % 256
    for number, onset in enumerate(raw.annotations.onset[1:15]):
        codes[round(onset * 128) :][:40] = number % 2 + 1
    info = mne.create_info(["Marker copy", "Packet"], 128.0, "eeg")
    raw.add_channels([mne.io.RawArray(np.array([codes, counter]) * 1e-6, info, verbose="ERROR")])
    file = exported(raw, tmp_path / "S1_raw.fif")
    for preprocessing in ({}, {"highpass": 1.0, "lowpass": 30.0, "reference": "average"}):
        (text,) = warned("fif", file, preprocessing=preprocessing)
        assert "channels Marker copy, Packet are no signal, but a few codes, or a counter" in text
    assert warned("fif", file, drop=("Marker copy", "Packet")) == []
    coarse = exported(make_raw(), tmp_path / "S1_raw.vhdr")  # by tenths of a microvolt
    assert warned("brainvision", coarse) == []
