"""Recordings of the Lab Streaming Layer, written byte by byte after the specification of XDF 1.0."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

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
