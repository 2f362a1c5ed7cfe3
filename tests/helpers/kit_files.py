"""Recordings of KIT (.con, .sqd), written byte by byte: gradiometers, and triggers that fall from 5 V."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

PARTS = 30
SYSTEM, CHANNELS, CALIBRATION, AMPLIFIER, CONDITIONS, DATA = 1, 4, 5, 7, 8, 9
GRADIOMETER, TRIGGER = 2, -1
TRIGGERS, WIDTH, HIGH = 8, 256, 16000


def write_kit(file: Path, data: np.ndarray, rate: float, events: Mapping[int, int], held: int = 5) -> Path:
    """Steps of the converter, shape (gradiometers, samples), and the number of the trigger at samples."""
    channels = len(data) + TRIGGERS
    triggers = np.full((TRIGGERS, data.shape[1]), HIGH)
    for at, number in events.items():
        triggers[number, at : at + held] = 0
    system = struct.pack("<3i", 2, 4, 1000) + b"".join(
        text.ljust(width, b"\0") for text, width in ((b"lab", 128), (b"160", 128))
    )
    system += struct.pack("<i", channels) + bytes(256) + struct.pack("<2i", 1_700_000_000, 1_700_000_000)
    system += bytes(12) + struct.pack("<i", 0) + bytes(12) + struct.pack("<i", 100) + bytes(12)
    system += struct.pack("<i", 0) + bytes(12) + struct.pack("<i", 0) + bytes(4 * 29)
    system += struct.pack("<d3i", 10.0, 0, 16, 16)
    listed = [
        struct.pack("<i5d", GRADIOMETER, 0.1 * number, 0.05, 0.1, 30.0, 40.0)
        + bytes(16)
        + b"AG%03d\0" % number
        for number in range(len(data))
    ]
    listed += [struct.pack("<iii", TRIGGER, number, 0) + bytes(32) for number in range(TRIGGERS)]
    gains = [(0.0, 1e-9)] * len(data) + [(0.0, 1.0)] * TRIGGERS
    parts = {
        SYSTEM: system,
        CHANNELS: b"".join(each.ljust(WIDTH, b"\0") for each in listed),
        CALIBRATION: b"".join(struct.pack("<2d", *each) for each in gains),
        AMPLIFIER: struct.pack("<i", 0),
        CONDITIONS: struct.pack("<idii", 1, rate, 0, data.shape[1]),
        DATA: np.vstack([data, triggers]).T.astype("<i2").tobytes(),
    }
    at, entries = 16 * PARTS, [struct.pack("<4i", 0, 16, PARTS, PARTS)]
    for number in range(1, PARTS):
        content = parts.get(number, b"")
        size = WIDTH if number == CHANNELS else len(content)
        count = channels if number == CHANNELS else int(bool(content))
        entries.append(struct.pack("<4i", at, size, count, count))
        at += len(content)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join([*entries, *(parts.get(number, b"") for number in range(1, PARTS))]))
    return file
