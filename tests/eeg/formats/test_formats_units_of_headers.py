"""Units of channels in BrainVision and GDF: every spelling of a voltage gives volts."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from edf_files import ANNOTATIONS, signal, write_edf
from eeg_folders import recording
from eeg_recordings import CLASSES, read
from handmade_recordings import CODES, write_gdf

from shortloop.eeg.data import Epochs

pytestmark = pytest.mark.filterwarnings("ignore:S1, S1.gdf")
STEPS = (signal(channels=4) * 10).astype("<i2")
NAMES = ("Fz", "Cz", "Pz", "GSR")
EVENTS = [(round(64 * time), {"T1": 1, "T2": 2}[name]) for time, name in ANNOTATIONS if name != "T0"]


def brainvision(folder: Path, units: list[str], encoding: str = "utf-8") -> Epochs:
    head = ["Brain Vision Data Exchange Header File Version 1.0", "[Common Infos]"]
    head += ["Codepage=UTF-8"] * (encoding == "utf-8")
    head += ["DataFile=S1.eeg", "MarkerFile=S1.vmrk", "DataFormat=BINARY", "DataOrientation=MULTIPLEXED"]
    head += ["NumberOfChannels=4", f"SamplingInterval={1e6 / 64}", "[Binary Infos]", "BinaryFormat=INT_16"]
    head += ["[Channel Infos]", *(f"Ch{n + 1}={NAMES[n]},,0.1,{unit}" for n, unit in enumerate(units))]
    (folder / "S1.vhdr").write_bytes("\n".join([*head, ""]).encode(encoding))
    marks = ["Brain Vision Data Exchange Marker File, Version 1.0", "[Common Infos]", "DataFile=S1.eeg"]
    marks += ["[Marker Infos]", "Mk1=New Segment,,1,1,0"]
    marks += [f"Mk{n}=Stimulus,S  {code},{at + 1},1,0" for n, (at, code) in enumerate(EVENTS, start=2)]
    (folder / "S1.vmrk").write_text("\n".join([*marks, ""]))
    (folder / "S1.eeg").write_bytes(STEPS.T.tobytes())
    events = {"face": ["S  1"], "house": ["S  2"]}
    return read("brainvision", [folder / "S1.vhdr"], events=events)


def by_hand(factors: list[float]) -> np.ndarray:
    volts = STEPS * 0.1 * np.array(factors)[:, np.newaxis]
    return np.stack([volts[:, at - 16 : at + 33] for at, _ in EVENTS])


@pytest.mark.parametrize(
    ("unit", "encoding"),
    [
        ("µV", "utf-8"),
        ("\u03bcV", "utf-8"),
        ("uv", "utf-8"),
        ("µv", "latin-1"),
        ("microV", "utf-8"),
        (" µV ", "utf-8"),
        ("", "utf-8"),
    ],
)
def test_microvolts_of_brainvision_are_understood(tmp_path: Path, unit: str, encoding: str) -> None:
    """In all channels, and in one: neither is it left out, nor taken for volts."""
    for units in ([unit] * 4, ["µV"] * 3 + [unit]):
        epochs = brainvision(tmp_path, units, encoding)
        assert epochs.channels == NAMES
        np.testing.assert_allclose(epochs.data, by_hand([1e-6] * 4), rtol=1e-9, atol=1e-15)


def test_other_voltages_of_brainvision(tmp_path: Path) -> None:
    epochs = brainvision(tmp_path, ["mv", "µV", "nv", "µV"])
    np.testing.assert_allclose(epochs.data, by_hand([1e-3, 1e-6, 1e-9, 1e-6]), rtol=1e-9, atol=1e-18)


def test_a_channel_of_brainvision_that_is_no_voltage_is_left_out_by_its_name(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"whose unit is not a voltage were left out: GSR \(µS\)"):
        epochs = brainvision(tmp_path, ["µV", "µV", "µV", "µS"])
    assert epochs.channels == NAMES[:3]


@pytest.mark.parametrize(
    ("unit", "factor"), [(b"uV", 1), (b"\xb5V", 1), (b"mV", 1e3), (b"nV", 1e-3), (b"uv", 1)]
)
def test_voltages_of_gdf_1_are_understood(tmp_path: Path, unit: bytes, factor: float) -> None:
    """The same steps in another unit."""
    raw, file = recording("S1", trials=6), tmp_path / "S1.gdf"
    write_gdf(raw, file)
    usual = read("mne", [file], events={name: [CODES[name]] for name in CLASSES})
    content = bytearray(file.read_bytes())
    count = len(raw.ch_names)
    content[256 + 96 * count : 256 + 104 * count] = unit.ljust(8) * count
    file.write_bytes(content)
    found = read("mne", [file], events={name: [CODES[name]] for name in CLASSES})
    np.testing.assert_allclose(found.data, usual.data * factor, rtol=1e-9, atol=1e-18)


@pytest.mark.parametrize(("code", "factor"), [(4256, 1.0), (4274, 1e-3), (4275, 1e-6), (4276, 1e-9)])
def test_codes_of_gdf_2_are_read_as_written(tmp_path: Path, code: int, factor: float) -> None:
    from shortloop.eeg.headers.units import VOLTS, _text, _units_of_gdf, voltage

    head = b"GDF 2.20".ljust(252) + struct.pack("<HH", 2, 0)
    (tmp_path / "S1.gdf").write_bytes(head + bytes(2 * 102) + struct.pack("<HH", code, 4275) + bytes(400))
    text, other = _units_of_gdf(tmp_path / "S1.gdf")
    assert (VOLTS[voltage(_text(text))], other) == (factor, b"uV")


def test_a_name_that_is_padded_by_nul_is_a_name(tmp_path: Path) -> None:
    file = write_edf(tmp_path / "S1.edf", signal(channels=3), names=["Fz", "Cz", "Pz"])
    content = bytearray(file.read_bytes())
    content[256 + 16 : 256 + 32] = b"Cz\0\0".ljust(16)
    plain = read("edf", [file], events={"face": ["T1"], "house": ["T2"]})
    file.write_bytes(content)
    epochs = read("edf", [file], events={"face": ["T1"], "house": ["T2"]})
    assert epochs.channels == ("Fz", "Cz", "Pz")
    np.testing.assert_array_equal(epochs.data, plain.data)
