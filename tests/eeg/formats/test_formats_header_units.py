"""Units of channels in EDF: every spelling of a voltage is understood, and other units are no EEG."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from edf_files import ANNOTATIONS, signal, write_edf
from eeg_recordings import read

from shortloop.base.errors import InputError
from shortloop.eeg.checks.recording import refuse_other_units
from shortloop.eeg.data import Epochs

NAMES = ("Fz", "Cz", "Pz", "Oz", "C3")
SAMPLES = signal(channels=5)
TIMES = [time for time, name in ANNOTATIONS if name != "T0"]
MICRO = [b"uV"] * 4


def epochs_of(folder: Path, units: list[bytes], data: np.ndarray = SAMPLES, **settings: Any) -> Epochs:
    file = write_edf(folder / "S1.edf", data, names=NAMES, units=units)
    return read("edf", [file], events={"face": ["T1"], "house": ["T2"]}, **settings)


def by_hand(factors: list[float], data: np.ndarray = SAMPLES) -> np.ndarray:
    """Samples of 0.1 of a unit around each event, in V."""
    volts = data * 0.1 * np.array(factors)[:, np.newaxis]
    return np.stack([volts[:, round(64 * t) - 16 : round(64 * t) + 33] for t in TIMES])


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("µV".encode(), 1e-6),  # the micro sign
        ("\u03bcV".encode(), 1e-6),  # the Greek letter
        ("µV".encode("latin-1"), 1e-6),
        ("μV".encode("shift-jis"), 1e-6),
        ("µV".encode("cp437"), 1e-6),
        ("μV".encode("iso8859-7"), 1e-6),
        (b"\xc3\x82\xc2\xb5V", 1e-6),  # encoded twice
        (b"uv", 1e-6),
        (b"microV", 1e-6),
        (b"uVolt", 1e-6),
        (b"uV\0\0", 1e-6),
        (b"mv", 1e-3),
        (b"nV", 1e-9),
        (b"V", 1.0),
        (b"volts", 1.0),
    ],
)
def test_a_voltage_is_understood_however_it_is_written(tmp_path: Path, unit: bytes, factor: float) -> None:
    data = SAMPLES.copy()
    if factor == 1.0:  # in V a signal has few steps
        data[0] = np.clip(data[0] // 1000, -5, 5)
    scale = 1e-6 / factor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if scale < 1e-3 or scale > 100:
            one = epochs_of(tmp_path, [unit] * 5, data)
            np.testing.assert_allclose(one.data, by_hand([factor] * 5, data), rtol=1e-9, atol=1e-16)
        else:
            one = epochs_of(tmp_path, [unit, *MICRO], data)
            np.testing.assert_allclose(one.data, by_hand([factor, *[1e-6] * 4], data), rtol=1e-9, atol=1e-12)


@first_cases(3, "unit", [b"%", b"DegC", b"\xb0C", b"bpm", b"", b"counts", b"mmHg"])
def test_a_channel_that_is_no_voltage_is_left_out_by_its_name(tmp_path: Path, unit: bytes) -> None:
    """It is in no average reference either."""
    with pytest.warns(UserWarning, match=r"whose unit is not a voltage were left out: C3 \(") as caught:
        epochs = epochs_of(tmp_path, [*MICRO, unit], preprocessing={"reference": "average"})
    assert len([each for each in caught if "left out: C3" in str(each.message)]) == 1
    assert epochs.channels == NAMES[:4]
    expected = by_hand([1e-6] * 5)[:, :4]
    np.testing.assert_allclose(epochs.data, expected - expected.mean(axis=1, keepdims=True), atol=1e-12)


def test_recordings_without_any_unit_are_read_as_before(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="samples that are given in V vary by"):
        epochs = epochs_of(tmp_path, [b""] * 5)
    np.testing.assert_allclose(epochs.data, by_hand([1.0] * 5))


def test_a_channel_of_impossible_size_is_refused_before_a_reference_spreads_it(tmp_path: Path) -> None:
    """Here the header says V of a channel in microvolts; the hint works."""
    with pytest.raises(InputError, match=r"channels differ 1.*e\+06-fold in size") as caught:
        epochs_of(tmp_path, [*MICRO, b"V"], preprocessing={"reference": "average"})
    assert str(caught.value.found).startswith("channel C3 is 1.1e+06 times as large as the others")
    assert "input.drop = ['C3']" in str(caught.value.hint)
    epochs = epochs_of(tmp_path, [*MICRO, b"V"], drop=("C3",))
    np.testing.assert_allclose(epochs.data, by_hand([1e-6] * 5)[:, :4], atol=1e-12)


def test_a_channel_that_is_much_larger_is_told_of(tmp_path: Path) -> None:
    data = SAMPLES.copy()
    data[:4] //= 3000
    with pytest.warns(
        UserWarning, match=r"channel C3 is \d.* times as large as the others: a loose electrode"
    ):
        epochs_of(tmp_path, [*MICRO, b"uV"], data)


def test_channels_that_are_nearly_zero_make_no_other_one_large() -> None:
    """What an interpolation leaves of rounding is no measure; types are compared with their like."""
    data = (
        np.random.default_rng(0).standard_normal((20, 5, 50))
        * np.array([1e-5, 1e-22, 1e-21, 1e-22, 1e-12])[:, np.newaxis]
    )
    kinds = ["eeg"] * 4 + ["mag"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_other_units(data, NAMES, kinds)
        data[0, 0, 0] = np.inf
        refuse_other_units(data, NAMES, kinds)
