"""XDF: samples are those of pyxdf, markers are at the sample that was recorded then."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyxdf  # type: ignore[import-untyped]
from eeg_proposed import proposed_study, runnable
from eeg_recordings import read
from python_process import ended
from refusal import refusal
from refused import refusing

from shortloop.base.errors import InputError

FORMATS = {"float32": "<f4", "double64": "<f8", "int16": "<i2", "int32": "<i4"}


def eeg_stream(
    data: np.ndarray,
    stamps: np.ndarray,
    rate: float,
    labels: Sequence[str] = (),
    *,
    name: str = "Amp",
    kind: str = "EEG",
    unit: str = "microvolts",
    dtype: str = "double64",
    chunk: int = 32,
    channel_type: str = "EEG",
) -> tuple[str, list[bytes]]:
    """Header and chunks of samples, shape (channels, samples)."""
    listed = "".join(
        f"<channel><label>{label}</label><type>{channel_type}</type><unit>{unit}</unit></channel>"
        for label in labels
    )
    desc = f"<desc><channels>{listed}</channels></desc>" if labels else "<desc />"
    header = _header(name, kind, len(data), rate, dtype, desc)
    rows = data.T.astype(FORMATS[dtype])
    samples = [b"\x08" + struct.pack("<d", at) + row.tobytes() for at, row in zip(stamps, rows, strict=True)]
    return header, [_samples(samples[start : start + chunk]) for start in range(0, len(samples), chunk)]


def marker_stream(
    texts: Sequence[str], stamps: Sequence[float] | np.ndarray, *, name: str = "Task", kind: str = "Markers"
) -> tuple[str, list[bytes]]:
    """Header and chunks of texts, one for each marker."""
    chunks = []
    for text, at in zip(texts, stamps, strict=True):
        data = text.encode()
        chunks.append(_samples([b"\x08" + struct.pack("<d", at) + b"\x01" + bytes([len(data)]) + data]))
    return _header(name, kind, 1, 0, "string", "<desc />"), chunks


def write_xdf(
    file: Path, streams: Sequence[tuple[str, list[bytes]]], offsets: Sequence[float] | None = None
) -> Path:
    """A file of streams; `offsets` of their clocks, s."""
    parts = [b"XDF:", _chunk(1, b"<?xml version='1.0'?><info><version>1.0</version></info>")]
    for number, (header, _) in enumerate(streams, start=1):
        parts.append(_chunk(2, struct.pack("<I", number) + header.encode()))
    for number, (_, chunks) in enumerate(streams, start=1):
        if offsets is not None:
            times = [struct.pack("<Idd", number, at, offsets[number - 1]) for at in (0.0, 30.0, 60.0)]
            parts += [_chunk(4, each) for each in times]
        parts += [_chunk(3, struct.pack("<I", number) + each) for each in chunks]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(parts))
    return file


def _header(name: str, kind: str, channels: int, rate: float, dtype: str, desc: str) -> str:
    return (
        f"<?xml version='1.0'?><info><name>{name}</name><type>{kind}</type><channel_count>{channels}"
        f"</channel_count><nominal_srate>{rate:g}</nominal_srate><channel_format>{dtype}</channel_format>"
        f"<hostname>lab</hostname>{desc}</info>"
    )


def _samples(samples: Sequence[bytes]) -> bytes:
    return b"\x04" + struct.pack("<I", len(samples)) + b"".join(samples)


def _chunk(tag: int, content: bytes) -> bytes:
    return b"\x04" + struct.pack("<I", len(content) + 2) + struct.pack("<H", tag) + content


ROOT = Path(__file__).resolve().parents[3]
RATE, SAMPLES, START = 250.0, 15_000, 4321.125
LABELS = ["Fz", "Cz", "Pz"]
AT = 400 + 350 * np.arange(40)
NAMES = ["face", "house"] * 20


def data_of(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((3, SAMPLES)) * 20


def stamps_of(rate: float = RATE) -> np.ndarray:
    return START + np.arange(SAMPLES) / rate


def recording(file: Path, *, stamps: np.ndarray | None = None, seed: int = 0, **how: Any) -> Path:
    """A stream of EEG with a marker at each of `AT`."""
    stamps = stamps_of() if stamps is None else stamps
    eeg = eeg_stream(data_of(seed)[:, : len(stamps)], stamps, RATE, LABELS, **how)
    return write_xdf(file, [eeg, marker_stream(NAMES, START + AT / RATE)])


def assert_exact(epochs: Any, data: np.ndarray, at: np.ndarray = AT) -> None:
    expected = np.stack([data[:, each - 62 : each + 126] for each in at])  # from -0.25 to 0.5 s
    np.testing.assert_allclose(epochs.data, expected * 1e-6, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["double64", "float32", "int16"])
def test_samples_are_those_of_pyxdf(tmp_path: Path, dtype: str) -> None:
    file = recording(tmp_path / "S1.xdf", dtype=dtype)
    streams, _ = pyxdf.load_xdf(file)
    epochs = read("xdf", [file])
    assert_exact(epochs, streams[0]["time_series"].T.astype(float))
    assert epochs.channels == tuple(LABELS)
    assert epochs.labels.tolist() == [0, 1] * 20
    assert epochs.sfreq == RATE


@pytest.mark.parametrize(("unit", "scale"), [("microvolts", 1e-6), ("V", 1.0), ("mV", 1e-3), ("", 1e-6)])
def test_units_and_clocks_of_the_stream(tmp_path: Path, unit: str, scale: float) -> None:
    eeg = eeg_stream(data_of() * 1e-6 / scale, stamps_of(), RATE, LABELS, unit=unit)
    file = write_xdf(tmp_path / "S1.xdf", [eeg, marker_stream(NAMES, START + AT / RATE)])
    assert_exact(read("xdf", [file]), data_of())
    eeg = eeg_stream(data_of() * 1e-6 / scale, stamps_of() - 100, RATE, LABELS, unit=unit)
    markers = marker_stream(NAMES, START + AT / RATE + 7)
    file = write_xdf(tmp_path / "S2.xdf", [eeg, markers], offsets=[100.0, -7.0])
    assert_exact(read("xdf", [file]), data_of())


@pytest.mark.parametrize("seed", range(3))
def test_jitter_moves_no_marker(tmp_path: Path, seed: int) -> None:
    """Samples that came in bursts are even; rates within 0.1 % are one."""
    rng = np.random.default_rng(seed)
    rate = RATE * (1 + rng.uniform(-8e-4, 8e-4))
    late = np.repeat(rng.exponential(0.008, SAMPLES // 25 + 1), 25)[:SAMPLES]
    true = stamps_of(rate)
    eeg = eeg_stream(data_of(), np.maximum.accumulate(true + late - late.mean()), RATE, LABELS)
    epochs = read("xdf", [write_xdf(tmp_path / "S1.xdf", [eeg, marker_stream(NAMES, true[AT])])])
    assert epochs.sfreq == RATE
    assert_exact(epochs, data_of())


def test_no_trial_is_across_an_interruption(tmp_path: Path) -> None:
    stamps = stamps_of()
    stamps[7000:] += 42.0
    markers = stamps[AT].copy()
    eeg = eeg_stream(data_of(), stamps, RATE, LABELS)
    pause = marker_stream(["face"], [stamps[6999] + 20], name="Other")
    file = write_xdf(tmp_path / "S1.xdf", [eeg, marker_stream(NAMES, markers), pause])
    with pytest.warns(UserWarning, match="1 of 41 markers were left out: no sample was recorded"):
        epochs = read("xdf", [file])
    across = (AT - 63 < 7000) & (AT + 126 > 7000)
    assert len(epochs.labels) == 40 - across.sum()
    assert_exact(epochs, data_of(), AT[~across])


def test_samples_that_are_lost_are_said(tmp_path: Path) -> None:
    stamps = stamps_of()
    stamps[7000:] += 0.45
    with refusal("samples are lost"):
        read("xdf", [recording(tmp_path / "S1.xdf", stamps=stamps)])
    stamps = stamps_of()
    stamps[7000:] += 0.08
    with pytest.warns(UserWarning, match="off the even times of its samples"):
        read("xdf", [recording(tmp_path / "S1.xdf", stamps=stamps)])
    stamps[7000:] -= 5
    with refusal("go back"):
        read("xdf", [recording(tmp_path / "S1.xdf", stamps=stamps)])


def test_streams_are_asked_for(tmp_path: Path) -> None:
    one, two = (
        eeg_stream(data_of(seed), stamps_of(), RATE, LABELS, name=name)
        for seed, name in ((0, "Amp A"), (1, "Amp B"))
    )
    markers = marker_stream(NAMES, START + AT / RATE)
    keys = marker_stream(["face"] * 3, START + AT[:3] / RATE + 0.3, name="Keys")
    file = write_xdf(tmp_path / "S1.xdf", [one, two, markers, keys])
    with refusal("several streams could be decoded", 'stream = "Amp A"'):
        read("xdf", [file])
    assert_exact(read("xdf", [file], stream="Amp B", markers=["Task"]), data_of(1))
    assert_exact(read("xdf", [file], stream="2", markers=["3"]), data_of(1))
    assert len(read("xdf", [file], stream="Amp A").labels) == 43
    with refusal("no such marker stream"):
        read("xdf", [file], stream="Amp A", markers=["Nothing"])
    with refusal("no stream to decode"):
        read("xdf", [file], stream="Amp C")
    same = write_xdf(tmp_path / "S2.xdf", [one, one, markers])
    with refusal("several", 'stream = "1"'):
        read("xdf", [same])
    assert_exact(read("xdf", [same], stream="1"), data_of())


def test_damage_is_refused(tmp_path: Path) -> None:
    """pyxdf reads around it."""
    whole = recording(tmp_path / "whole.xdf").read_bytes()
    file = tmp_path / "S1.xdf"
    for cut in (3, 40, 1000, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:cut])
        with pytest.raises(InputError):
            read("xdf", [file])
    rng = np.random.default_rng(0)
    for _ in range(15):
        damaged = bytearray(whole)
        for at in rng.integers(4, len(whole), 40):
            damaged[at] = rng.integers(256)
        file.write_bytes(damaged)
        with suppress(InputError):
            read("xdf", [file])


def test_from_a_folder_to_a_study(tmp_path: Path) -> None:
    for who in range(3):
        recording(tmp_path / f"data/P{who}.xdf", seed=who)
    found, file = proposed_study(tmp_path / "data")
    assert found.questions == ()
    runnable(file, participants=("P0", "P1", "P2"))


def test_without_pyxdf_it_is_said_what_to_install(tmp_path: Path) -> None:
    code = "from shortloop.eeg.formats.xdf import XdfInput\n"
    code += "XdfInput.model_validate({'format': 'xdf', 'files': {'run': ['x']}}).warm_up()"
    said = ended(["-c", code], PYTHONPATH=f"{refusing(tmp_path, ['pyxdf'])}:{ROOT}").stderr
    assert "pyxdf is not installed" in said
    assert "pip install 'shortloop[formats]'" in said
