"""What is wrong with one recording is found and placed; what is odd or in another unit is told of."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pytest
from eeg_recordings import exported, make_raw, read, warned
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.eeg.checks.plausible import check_rate, in_seconds
from shortloop.eeg.checks.recording import check_epochs, check_features, typical_amplitude, warn_of_quality
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.formats.files.process import located
from shortloop.eeg.study.load import read_study


def epochs(**other: Any) -> Epochs:
    good = Epochs(
        data=np.random.default_rng(0).standard_normal((6, 2, 5)),
        labels=np.array([0, 1, 0, 1, 1, 0]),
        classes=("face", "house"),
        times=np.arange(-1, 4) / 100,
        sfreq=100.0,
        channels=("Fz", "Cz"),
    )
    return replace(good, **other)


def features(**other: Any) -> Features:
    good = Features(
        data=np.random.default_rng(0).standard_normal((4, 6, 3)),
        labels=np.array([0, 1, 0, 1, 1, 0]),
        classes=("face", "house"),
        times=np.arange(4.0),
        names=("a", "b", "c"),
        kind="power",
    )
    return replace(good, **other)


def test_good_recordings_pass() -> None:
    check_epochs(epochs(), participant="S1", phase="study")
    check_features(features(), "study")
    # Times that were rounded to milliseconds.
    times = np.round(np.arange(-100, 400) / 256, 3)
    data = np.random.default_rng(0).standard_normal((6, 2, 500)) * 1e-5
    check_epochs(epochs(data=data, times=times, sfreq=256.0), participant="S1", phase="study")


@pytest.mark.parametrize(
    ("other", "problem", "found"),
    [
        ({"data": np.zeros((6, 3, 5))}, "do not fit together", "(6, 3, 5)"),
        ({"data": np.zeros((6, 10))}, "do not fit together", "(6, 10)"),
        ({"labels": np.zeros(5, int)}, "do not fit together", "(6, 2, 5)"),
        ({"labels": np.zeros(0, int), "data": np.zeros((0, 2, 5))}, "no trials in", "the study phase"),
        ({"labels": np.zeros(6, int)}, "no trials of house", "6 face, 0 house"),
        ({"classes": ("face", "house", "dog")}, "no trials of dog", "3 face, 3 house, 0 dog"),
        ({"labels": np.array([0, 1, 0, 1, 2, 0])}, "not indices of classes", "0 to 2"),
        ({"labels": np.array([0, 1, 0, 1, -1, 0])}, "not indices of classes", "-1 to 1"),
        ({"labels": np.array([0.0, 1, 0, 1, 1, 0])}, "not indices of classes", "float64"),
        ({"channels": ("Fz", "Fz")}, "two channels have the same name", "Fz"),
        ({"channels": (), "data": np.zeros((6, 0, 5))}, "no channels", "none"),
        ({"times": np.array([0, 1, 1, 2, 3]) / 100}, "times do not increase", "5 times from 0 to 0.03"),
        ({"times": np.arange(5)[::-1] / 100}, "times do not increase", "0.04 to 0"),
        ({"times": np.array([0, 1, 2, 3, np.nan])}, "times do not increase", "nan"),
        ({"times": np.zeros(1), "data": np.zeros((6, 2, 1))}, "times do not increase", "1 times"),
        ({"sfreq": 120.0}, "do not match the sampling rate", "samples off"),
        ({"times": np.array([0, 1, 2, 3, 5]) / 100}, "do not match the sampling rate", "1 samples off"),
        ({"sfreq": 0.0}, "sampling rate is not a positive number", "0.0"),
        ({"sfreq": np.nan}, "sampling rate is not a positive number", "nan"),
    ],
)
def test_what_is_wrong_with_epochs_is_named(other: dict[str, Any], problem: str, found: str) -> None:
    with refusal(problem, found, participant="S1", file="a.fif, b.fif"), located("S1", "a.fif, b.fif"):
        check_epochs(epochs(**other), participant="S1", phase="study")


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"data": np.zeros((4, 6, 2))}, "do not fit together"),
        ({"data": np.zeros((6, 3))}, "do not fit together"),
        ({"times": np.arange(3.0)}, "do not fit together"),
        ({"names": (), "data": np.zeros((4, 6, 0))}, "do not fit together"),
        ({"labels": np.zeros(6, int)}, "no trials of house"),
        ({"classes": ("face", "house", "dog")}, "no trials of dog"),
        ({"times": np.zeros(4)}, "times of the bins do not increase"),
    ],
)
def test_what_is_wrong_with_features_is_named(other: dict[str, Any], problem: str) -> None:
    with refusal(problem, participant="S1", file="a.mat"), located("S1", "a.mat"):
        check_features(features(**other), "study")


@settings(max_examples=30, deadline=None)
@given(
    places=st.sets(
        st.tuples(st.integers(0, 5), st.integers(0, 1), st.integers(0, 4)), min_size=1, max_size=9
    ),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
)
def test_samples_without_numbers_are_counted(places: set[tuple[int, int, int]], bad: float) -> None:
    wrong = epochs()
    for place in places:
        wrong.data[place] = bad
    with refusal("not finite") as caught:
        check_epochs(wrong, participant="S1", phase="test")
    trial, channel, _ = min(places)
    assert f"{len(places)} of 60 values" in str(caught.value.found)
    assert f"trial {trial + 1}, channel {('Fz', 'Cz')[channel]}" in str(caught.value.found)


def said(data: np.ndarray, unit: str = "V") -> list[str]:
    names = tuple(f"E{number}" for number in range(1, data.shape[1] + 1))
    times = np.arange(data.shape[2]) / 100
    epochs = Epochs(data, np.arange(len(data)) % 2, ("a", "b"), times, 100.0, names, unit)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_quality(epochs, participant="S1", phase="study")
    return [str(each.message) for each in caught]


@pytest.fixture
def good() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((20, 4, 50)) * 1e-5


def told(*arguments: Any, **given: Any) -> list[str]:
    return [text for text in warned(*arguments, **given)[1] if "annotated as BAD_blink" not in text]


def test_a_good_recording_says_nothing(good: np.ndarray) -> None:
    assert typical_amplitude(good) == pytest.approx(1e-5, rel=0.1)
    assert typical_amplitude(good + 1) == pytest.approx(typical_amplitude(good))
    assert said(good) == []
    assert said(good + 0.3) == []  # an offset, as of amplifiers for direct current
    assert said((good * 1e6).astype(np.float32), "µV") == []
    assert said(good * np.array([1, 1e-8, 1, 1])[:, np.newaxis]) == []  # T beside V


CHANGES: list[tuple[Any, Any, str]] = [
    *((np.s_[:, 2], value, "channel E3 is flat in all 20 trials") for value in (0, 0.1875, -3e-5)),
    (np.s_[:12, 0], 1e-5, "channel E1 is flat in 12 of 20 trials"),
    (np.s_[[3, 7]], 0, "2 of 20 trials are flat in all channels, the first is trial 4"),
    (np.s_[:, 1:3], 0, "channels E2, E3 are flat in all 20 trials"),  # and no copies
    (np.s_[:, 3], 1, "channels are copies of others: E4 of E2"),
]


@pytest.mark.parametrize(("where", "value", "expected"), CHANGES)
def test_flat_channels_trials_and_copies(good: np.ndarray, where: Any, value: float, expected: str) -> None:
    good[:9, 1] = 0  # less than half: rejection by flatness is for that
    good[where] = good[:, 1] if "copies" in expected else value
    (text,) = said(good)
    assert text.startswith(expected)
    if "E3 is" in expected:
        assert "input.drop" in text
        assert "input.preprocessing.bads.S1" in text


def test_what_filters_leave_of_a_constant_is_flat_and_nothing_at_all_is_refused() -> None:
    raw = make_raw()
    raw._data[1] = 0.1875
    raw.filter(1.0, 30.0, verbose="ERROR")
    assert np.ptp(raw._data[1]) > 0  # rounding
    (text,) = said(np.stack([raw._data[:, start : start + 200] for start in range(0, 2000, 200)]))
    assert text.startswith("channel E2 is flat in all 10 trials")
    with refusal("nothing was recorded in the study phase"):
        said(np.zeros((4, 2, 10)))


@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_samples_in_another_unit_than_v(good: np.ndarray, scale: float) -> None:
    (found,) = said(good * scale)
    assert "input.unit" in found
    assert said(good * scale, "a.u.") == []


def test_magnetic_fields_are_in_their_own_units(tmp_path: Path) -> None:
    raw = make_raw()
    raw.set_channel_types(dict.fromkeys(raw.ch_names[:6], "mag"), verbose="ERROR", on_unit_change="ignore")
    raw._data[:6] *= 1e-7
    file = exported(raw, tmp_path / "S1_raw.fif")
    assert read("fif", [file]).unit == "T"
    assert not told("fif", [file])
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
        (text,) = told("fif", [file], preprocessing=preprocessing)
        assert "Marker copy, Packet are no signal" in text
    assert told("fif", [file], drop=("Marker copy", "Packet")) == []
    coarse = exported(make_raw(), tmp_path / "S1_raw.vhdr")  # by tenths of a microvolt
    assert told("brainvision", [coarse]) == []


EVENTS = {"face": ("0",), "house": ("1",)}


def npz(folder: Path, times: np.ndarray) -> Path:
    y = np.arange(8) % 2
    x = np.random.default_rng(0).standard_normal((8, 2, len(times))) * 1e-5
    np.savez(folder / "S1.npz", X=x, y=y, t=times, ch=["Fz", "Cz"])
    return folder / "S1.npz"


@pytest.mark.parametrize("rate", [128, 250, 512, 1000, 2048])
def test_epochs_with_times_in_ms(tmp_path: Path, rate: int) -> None:
    times = np.arange(-0.2, 0.8, 1 / rate)
    file = npz(tmp_path, 1000 * times)
    hint = "input.time_unit = 'ms'"
    with refusal("another unit than seconds", f"{rate} Hz with", hint, participant="S1", file=file):
        read("npz", [file], events=EVENTS)
    # The study can say it, in place of a new export.
    epochs = read("npz", [file], events=EVENTS, time_unit="ms")
    assert epochs.sfreq == pytest.approx(rate)
    np.testing.assert_allclose(epochs.times, times, atol=1e-9)


def test_what_the_study_says_of_times_is_believed(tmp_path: Path) -> None:
    file = npz(tmp_path, np.arange(-50, 200) / 250)
    assert read("npz", [file], events=EVENTS).sfreq == 250
    assert read("npz", [file], events=EVENTS, time_unit="ms").sfreq == 250e3  # as the study insists
    slow = npz(tmp_path, np.arange(-10, 60) / 0.5)  # a volume of haemodynamics every two seconds
    with pytest.raises(InputError):
        read("npz", [slow], events=EVENTS)
    assert read("npz", [slow], events=EVENTS, time_unit="s").sfreq == 0.5
    assert read("npz", [npz(tmp_path, np.arange(-20, 120) / 3.9)], events=EVENTS).sfreq == pytest.approx(3.9)
    with refusal("are no times"):
        read("npz", [npz(tmp_path, np.arange(300))], events=EVENTS)


def test_a_rate_in_khz_is_refused_and_long_windows_are_taken(tmp_path: Path) -> None:
    """A header says 0.25 where it means 250 Hz."""
    raw = make_raw()
    slow = mne.io.RawArray(raw.get_data(), mne.create_info(raw.ch_names, 0.128, "eeg"), verbose="ERROR")
    slow.set_annotations(mne.Annotations(raw.annotations.onset * 1000, 0.0, raw.annotations.description))
    slow.save(tmp_path / "S1_raw.fif", fmt="double", verbose="ERROR")
    with refusal("cannot be meant in Hz", "0.128 Hz over", participant="S1"):
        read("fif", [tmp_path / "S1_raw.fif"])
    file = tmp_path / "study.toml"
    long = {"input": "tmin = -30.0\ntmax = 60.0", "amplitude": "baseline = [-30.0, 0.0]", "power": ""}
    file.write_text(STUDY.format(**long), encoding="utf-8")
    settings: Any = read_study(file).input
    assert (settings.tmin, settings.tmax) == (-30, 60)
    assert in_seconds(None) is None


@pytest.mark.parametrize(
    ("sfreq", "seconds", "fine"),
    [
        *((0.25, 1.0, False), (1.0, 1024.0, False), (2.048, 1000.0, False), (5.0, 700.0, False)),
        *((2.0, 30.0, True), (3.9, 60.0, True), (10.0, 600.0, True), (50e3, 2.0, True), (250e3, 2.0, False)),
    ],
)
def test_where_the_limits_are(sfreq: float, seconds: float, fine: bool) -> None:
    """Recordings, such as near-infrared light, may be longer than epochs."""
    check_rate(3.9, 1800.0, continuous=True)
    check_rate(sfreq, seconds, believed=True)
    if fine:
        check_rate(sfreq, seconds)
        return
    with refusal("cannot be meant in Hz"):
        check_rate(sfreq, seconds)


STUDY = """\
name = "windows"
participants = ["S1"]
classes = ["face", "house"]
[input]
format = "fif"
files.study = ["S1.fif"]
{input}
[features.amplitude]
{amplitude}
[features.power]
{power}
"""


@pytest.mark.parametrize(
    ("given", "field", "value"),
    [
        ({"input": "tmin = -200\ntmax = 0.8"}, "input.tmin", "-0.2"),
        ({"input": "tmax = 800.0"}, "input.tmax", "0.8"),
        ({"input": "preprocessing.baseline = [-200.0, 0.0]"}, "input.preprocessing.baseline", "-0.2"),
        ({"amplitude": "baseline = [-100.0, 0.0]"}, "features.amplitude.baseline", "-0.1"),
        ({"amplitude": "start = 100.0"}, "features.amplitude.start", "0.1"),
        ({"power": "start = -1500.0"}, "features.power.start", "-1.5"),
    ],
)
def test_windows_of_a_study_in_ms(tmp_path: Path, given: dict[str, str], field: str, value: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(**{"input": "", "amplitude": "", "power": "", **given}), encoding="utf-8")
    with refusal("further from the event than epochs reach", field, f"ms, write {value}"):
        read_study(file)
