"""Units are taken as people write them, in headers and studies; other units are no EEG."""

from __future__ import annotations

import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import first_cases
from edf_files import ANNOTATIONS, signal, write_edf
from eeg_folders import recording
from eeg_recordings import CLASSES, read
from handmade_recordings import CODES, write_gdf
from pydantic import ValidationError

from shortloop.base.errors import InputError
from shortloop.eeg.checks.recording import refuse_other_units
from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.base import InputSettings
from shortloop.eeg.headers.units import VOLTS, unit_named, voltage

NAMES = ("Fz", "Cz", "Pz", "Oz", "C3")
SAMPLES = signal(channels=5)
STEPS = (signal(channels=4) * 10).astype("<i2")
EVENTS = [(round(64 * time), {"T1": 1, "T2": 2}[name]) for time, name in ANNOTATIONS if name != "T0"]
MICRO = [b"uV"] * 4


def epochs_of(folder: Path, units: list[bytes], data: np.ndarray = SAMPLES, **settings: Any) -> Epochs:
    file = write_edf(folder / "S1.edf", data, names=NAMES, units=units)
    return read("edf", [file], events={"face": ["T1"], "house": ["T2"]}, **settings)


def by_hand(factors: list[float], data: np.ndarray = SAMPLES) -> np.ndarray:
    """Samples of 0.1 of a unit around each event, in V."""
    volts = data * 0.1 * np.array(factors)[:, np.newaxis]
    return np.stack([volts[:, at - 16 : at + 33] for at, _ in EVENTS])


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        *(("µV".encode(encoding), 1e-6) for encoding in ("utf-8", "latin-1", "cp437")),  # the micro sign
        *(("\u03bcV".encode(encoding), 1e-6) for encoding in ("utf-8", "shift-jis", "iso8859-7")),  # Greek
        (b"\xc3\x82\xc2\xb5V", 1e-6),  # encoded twice
        *((unit, 1e-6) for unit in (b"uv", b"microV", b"uVolt", b"uV\0\0")),
        *((b"mv", 1e-3), (b"nV", 1e-9), (b"V", 1.0), (b"volts", 1.0)),
    ],
)
def test_a_voltage_is_understood_however_it_is_written(tmp_path: Path, unit: bytes, factor: float) -> None:
    data = SAMPLES.copy()
    if factor == 1.0:  # in V a signal has few steps
        data[0] = np.clip(data[0] // 1000, -5, 5)
    others = ([unit] * 4, [factor] * 4) if not 1e-3 <= 1e-6 / factor <= 100 else (MICRO, [1e-6] * 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = epochs_of(tmp_path, [unit, *others[0]], data)
    np.testing.assert_allclose(one.data, by_hand([factor, *others[1]], data), rtol=1e-9, atol=1e-12)


@first_cases(3, "unit", [b"%", b"DegC", b"\xb0C", b"bpm", b"", b"counts", b"mmHg"])
def test_a_channel_that_is_no_voltage_is_left_out_by_its_name(tmp_path: Path, unit: bytes) -> None:
    """It is in no average reference either."""
    with pytest.warns(UserWarning, match=r"whose unit is not a voltage were left out: C3 \(") as caught:
        epochs = epochs_of(tmp_path, [*MICRO, unit], preprocessing={"reference": "average"})
    assert len([each for each in caught if "left out: C3" in str(each.message)]) == 1
    assert epochs.channels == NAMES[:4]
    expected = by_hand([1e-6] * 5)[:, :4]
    np.testing.assert_allclose(epochs.data, expected - expected.mean(axis=1, keepdims=True), atol=1e-12)


def test_channels_of_impossible_size_are_refused_and_of_large_size_told_of(tmp_path: Path) -> None:
    """Here the header says V of a channel in microvolts; the hint works."""
    with pytest.raises(InputError, match=r"channels differ 1.*e\+06-fold in size") as caught:
        epochs_of(tmp_path, [*MICRO, b"V"], preprocessing={"reference": "average"})
    assert str(caught.value.found).startswith("channel C3 is 1.1e+06 times as large as the others")
    assert "input.drop = ['C3']" in str(caught.value.hint)
    epochs = epochs_of(tmp_path, [*MICRO, b"V"], drop=("C3",))
    np.testing.assert_allclose(epochs.data, by_hand([1e-6] * 5)[:, :4], atol=1e-12)
    data = SAMPLES.copy()
    data[:4] //= 3000
    with pytest.warns(
        UserWarning, match=r"channel C3 is \d.* times as large as the others: a loose electrode"
    ):
        epochs_of(tmp_path, [*MICRO, b"uV"], data)
    with pytest.warns(UserWarning, match="samples that are given in V vary by"):
        epochs = epochs_of(tmp_path, [b""] * 5)
    np.testing.assert_allclose(epochs.data, by_hand([1.0] * 5))


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


MICROVOLT, MU = "\u00b5V", "\u03bcV"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        *(
            (text, MICROVOLT)
            for text in ("uv", "uV", "UV", MICROVOLT, MU, f" {MU} ", "\u039cV", "micro volt")
        ),
        *((text, MICROVOLT) for text in ("microvolts", "micro-Volts", "Micro Volt", "µ volt", "u V")),
        *((text, "mV") for text in ("mV", "mv", "milli volts", "Millivolt")),
        *((text, "V") for text in ("V", "v", "volts", "Volt")),
        *((text, "nV") for text in ("nV", "nanovolt")),
        *((text, "fT/cm") for text in ("fT/cm", "ft / cm")),
        *((text, "µV/m²") for text in ("µV/m²", "uV/m^2", "uV/m2")),
        *((text, "a.u.") for text in ("a.u.", "AU", "arbitrary units")),
        *((text, "z") for text in ("z", "z-score", "z scores")),
        ("µM", "µM"),
        ("\u03bcM", "µM"),
        ("%", "%"),
    ],
)
def test_what_is_clear_is_taken(written: str, meant: str) -> None:
    assert unit_named(written) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "mega, a million") for text in ("MV", "Mv", "M V", "Mvolt")),
        *(
            (text, r"unknown unit .*; write one of V, mV, µV")
            for text in ("micovolt", "", "meV", "megavolt", "uV2", "ADC", "µ")
        ),
    ],
)
def test_what_is_not_clear_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        unit_named(text)
    with pytest.raises(ValidationError, match="unit"):
        InputSettings.model_validate({"format": "npz", "files": {"run": ("x",)}, "unit": text})


def test_every_voltage_is_one() -> None:
    """And a study may say it in any of these ways."""
    for name in ("npz", "csv", "fieldtrip"):
        for unit in ("uv", MU, "micro volt"):
            form = InputSettings.model_validate({"format": name, "files": {"run": ("x",)}, "unit": unit})
            assert form.how_to_read("S1")["unit"] == MICROVOLT
    assert {unit_named(text) for text in VOLTS} == set(VOLTS)
    assert [*map(voltage, ["uV", MU, "unknown", "T"])] == [MICROVOLT, MICROVOLT, "", ""]


CHANNELS = ("Fz", "Cz", "Pz", "GSR")


def brainvision(folder: Path, units: list[str], encoding: str = "utf-8") -> Epochs:
    head = ["Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]"]
    head += ["Codepage=UTF-8"] * (encoding == "utf-8")
    head += ["DataFile=S1.eeg", "MarkerFile=S1.vmrk", "DataFormat=BINARY", "DataOrientation=MULTIPLEXED"]
    head += ["NumberOfChannels=4", f"SamplingInterval={1e6 / 64}", "[Binary Infos]", "BinaryFormat=INT_16"]
    head += ["[Channel Infos]", *(f"Ch{n + 1}={CHANNELS[n]},,0.1,{unit}" for n, unit in enumerate(units))]
    (folder / "S1.vhdr").write_bytes("\n".join([*head, ""]).encode(encoding))
    marks = ["Brain Vision Data Exchange Marker File, Version 1.0", "[Common Infos]", "DataFile=S1.eeg"]
    marks += ["[Marker Infos]", "Mk1=New Segment,,1,1,0"]
    marks += [f"Mk{n}=Stimulus,S  {code},{at + 1},1,0" for n, (at, code) in enumerate(EVENTS, start=2)]
    (folder / "S1.vmrk").write_text("\n".join([*marks, ""]))
    (folder / "S1.eeg").write_bytes(STEPS.T.tobytes())
    events = {"face": ["S  1"], "house": ["S  2"]}
    return read("brainvision", [folder / "S1.vhdr"], events=events)


@pytest.mark.parametrize(
    ("unit", "encoding"),
    [("µv", "latin-1"), *((unit, "utf-8") for unit in ("µV", "\u03bcV", "uv", "microV", " µV ", ""))],
)
def test_microvolts_of_brainvision_are_understood(tmp_path: Path, unit: str, encoding: str) -> None:
    """In all channels, and in one: neither is it left out, nor taken for volts."""
    for units in ([unit] * 4, ["µV"] * 3 + [unit]):
        epochs = brainvision(tmp_path, units, encoding)
        assert epochs.channels == CHANNELS
        np.testing.assert_allclose(epochs.data, by_hand([1e-6] * 4, STEPS), rtol=1e-9, atol=1e-15)


def test_other_units_of_brainvision_and_names_padded_by_nul(tmp_path: Path) -> None:
    epochs = brainvision(tmp_path, ["mv", "µV", "nv", "µV"])
    np.testing.assert_allclose(epochs.data, by_hand([1e-3, 1e-6, 1e-9, 1e-6], STEPS), rtol=1e-9, atol=1e-18)
    with pytest.warns(UserWarning, match=r"whose unit is not a voltage were left out: GSR \(µS\)"):
        epochs = brainvision(tmp_path, ["µV", "µV", "µV", "µS"])
    assert epochs.channels == CHANNELS[:3]
    file = write_edf(tmp_path / "S1.edf", signal(channels=3), names=["Fz", "Cz", "Pz"])
    content = bytearray(file.read_bytes())
    content[256 + 16 : 256 + 32] = b"Cz\0\0".ljust(16)
    plain = read("edf", [file], events={"face": ["T1"], "house": ["T2"]})
    file.write_bytes(content)
    epochs = read("edf", [file], events={"face": ["T1"], "house": ["T2"]})
    assert epochs.channels == ("Fz", "Cz", "Pz")
    np.testing.assert_array_equal(epochs.data, plain.data)


@pytest.mark.parametrize(
    ("unit", "factor"), [(b"uV", 1), (b"\xb5V", 1), (b"mV", 1e3), (b"nV", 1e-3), (b"uv", 1)]
)
def test_voltages_of_gdf_1_are_understood(tmp_path: Path, unit: bytes, factor: float) -> None:
    """The same steps in another unit."""
    raw, file = recording("S1", trials=6), tmp_path / "S1.gdf"
    write_gdf(raw, file)
    events = {name: [CODES[name]] for name in CLASSES}
    usual = read("mne", [file], events=events)
    content = bytearray(file.read_bytes())
    count = len(raw.ch_names)
    content[256 + 96 * count : 256 + 104 * count] = unit.ljust(8) * count
    file.write_bytes(content)
    found = read("mne", [file], events=events)
    np.testing.assert_allclose(found.data, usual.data * factor, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(("code", "factor"), [(4256, 1.0), (4274, 1e-3), (4275, 1e-6), (4276, 1e-9)])
def test_codes_of_gdf_2_are_read_as_written(tmp_path: Path, code: int, factor: float) -> None:
    from shortloop.eeg.headers.units import VOLTS, _text, _units_of_gdf, voltage

    head = b"GDF 2.20".ljust(252) + struct.pack("<HH", 2, 0)
    (tmp_path / "S1.gdf").write_bytes(head + bytes(2 * 102) + struct.pack("<HH", code, 4275) + bytes(400))
    text, other = _units_of_gdf(tmp_path / "S1.gdf")
    assert (VOLTS[voltage(_text(text))], other) == (factor, b"uV")
