"""Times in milliseconds where seconds are asked for are refused, in files and in the study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd
import pytest
from eeg_recordings import make_raw, read
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.eeg.checks.plausible import check_rate, in_seconds
from shortloop.eeg.study.load import read_study

EVENTS = {"face": ("0",), "house": ("1",)}


def npz(folder: Path, times: np.ndarray) -> Path:
    y = np.arange(8) % 2
    x = np.random.default_rng(0).standard_normal((8, 2, len(times))) * 1e-5
    np.savez(folder / "S1.npz", X=x, y=y, t=times, ch=["Fz", "Cz"])
    return folder / "S1.npz"


def csv(folder: Path, scale: float) -> Path:
    raw = make_raw()
    table = pd.DataFrame(raw.get_data(picks="eeg").T * 1e6, columns=raw.ch_names[:6])
    table.insert(0, "timestamps", 1.7e9 + raw.times * scale)
    table["marker"] = ""
    for onset, name in zip(raw.annotations.onset, raw.annotations.description):
        table.loc[round(onset * raw.info["sfreq"]), "marker"] = name
    table.to_csv(folder / "S1.csv", index=False)
    return folder / "S1.csv"


@pytest.mark.parametrize("rate", [128, 250, 512, 1000, 2048])
def test_epochs_with_times_in_ms(tmp_path: Path, rate: int) -> None:
    times = np.arange(-0.2, 0.8, 1 / rate)
    file = npz(tmp_path, 1000 * times)
    with pytest.raises(InputError, match="times are in another unit than seconds") as caught:
        read("npz", [file], events=EVENTS)
    error = caught.value
    assert (error.where["participant"], error.file) == ("S1", str(file))
    assert f"{rate} Hz with times in ms" in str(error.found)
    assert "input.time_unit = 'ms'" in str(error.hint)
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
    with pytest.raises(InputError, match="are no times"):
        read("npz", [npz(tmp_path, np.arange(300))], events=EVENTS)


@pytest.mark.parametrize(("scale", "unit"), [(1e3, "ms"), (1e6, "us")])
def test_text_with_times_in_ms(tmp_path: Path, scale: float, unit: str) -> None:
    file = csv(tmp_path, scale)
    with refusal("times are in another unit than seconds", "128 Hz with times in "):
        read("csv", [file])
    right = read("csv", [csv(tmp_path, 1.0)])
    np.testing.assert_allclose(read("csv", [csv(tmp_path, scale)], time_unit=unit).data, right.data)


def test_a_rate_in_khz(tmp_path: Path) -> None:
    """A header says 0.25 where it means 250 Hz."""
    raw = make_raw()
    slow = mne.io.RawArray(raw.get_data(), mne.create_info(raw.ch_names, 0.128, "eeg"), verbose="ERROR")
    slow.set_annotations(mne.Annotations(raw.annotations.onset * 1000, 0.0, raw.annotations.description))
    slow.save(tmp_path / "S1_raw.fif", fmt="double", verbose="ERROR")
    with refusal("cannot be meant in Hz", "0.128 Hz over", participant="S1"):
        read("fif", [tmp_path / "S1_raw.fif"])


@pytest.mark.parametrize(
    ("sfreq", "seconds", "fine"),
    [
        (0.25, 1.0, False),
        (1.0, 1024.0, False),
        (2.048, 1000.0, False),
        (5.0, 700.0, False),
        (2.0, 30.0, True),
        (3.9, 60.0, True),
        (10.0, 600.0, True),
        (50e3, 2.0, True),
        (250e3, 2.0, False),
    ],
)
def test_where_the_limits_are(sfreq: float, seconds: float, fine: bool) -> None:
    """Recordings, such as near-infrared light, may be longer than epochs."""
    check_rate(3.9, 1800.0, continuous=True)
    check_rate(sfreq, seconds, believed=True)
    if fine:
        check_rate(sfreq, seconds)
        return
    with pytest.raises(InputError, match="cannot be meant in Hz"):
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


def test_long_windows_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    long = {"input": "tmin = -30.0\ntmax = 60.0", "amplitude": "baseline = [-30.0, 0.0]", "power": ""}
    file.write_text(STUDY.format(**long), encoding="utf-8")
    settings: Any = read_study(file).input
    assert (settings.tmin, settings.tmax) == (-30, 60)
    assert in_seconds(None) is None
