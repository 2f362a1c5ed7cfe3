"""EDF+ recordings, written byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

ANNOTATIONS = [(0.0, "T0"), (1.0, "T1"), (2.0, "T2"), (3.25, "T1"), (4.5, "T2")]


def write_edf(
    file: Path,
    digital: np.ndarray,
    *,
    sfreq: int = 64,
    names: Sequence[str] = ("EEG Fz", "EEG Cz", "EOG left"),
    annotations: Sequence[tuple[float, str]] = ANNOTATIONS,
    kind: str = "EDF+C",
    units: Sequence[bytes] = (),
    clock: Sequence[float] = (),
) -> Path:
    """EDF+ by the book (edfplus.info): 16-bit samples that stand for 0.1 of a unit, a record a second."""
    records, tal_samples = digital.shape[1] // sfreq, 64
    signals = [*names, "EDF Annotations"]
    low, high = -32768, 32767

    def fields(width: int, values: Sequence[object]) -> str:
        return "".join(f"{value!s:<{width}}" for value in values)

    n = len(names)
    written = [each.decode("latin-1") for each in units] or ["uV"] * n
    times = [*clock] or [*range(records)]
    header = fields(8, ["0"]) + fields(80, ["X X X X", "Startdate 01-JAN-2020 X X X"]) + "01.01.2000.00.00"
    header += fields(8, [256 * (n + 2)]) + fields(44, [kind]) + fields(8, [records, 1]) + fields(4, [n + 1])
    header += fields(16, signals) + fields(80, [""] * (n + 1)) + fields(8, [*written, ""])
    header += fields(8, [low / 10] * n + [-1]) + fields(8, [high / 10] * n + [1])
    header += fields(8, [low] * (n + 1)) + fields(8, [high] * (n + 1)) + fields(80, [""] * (n + 1))
    header += fields(8, [sfreq] * n + [tal_samples]) + fields(32, [""] * (n + 1))
    body = b""
    for record in range(records):
        body += digital[:, record * sfreq : (record + 1) * sfreq].astype("<i2").tobytes()
        start = times[record]
        tal = f"+{start:g}\x14\x14\x00"
        tal += "".join(f"+{t:g}\x14{name}\x14\x00" for t, name in annotations if start <= t < start + 1)
        body += tal.encode().ljust(2 * tal_samples, b"\x00")
    file.write_bytes(header.encode("latin-1") + body)
    return file


def signal(seed: int = 0, channels: int = 3, seconds: int = 8, sfreq: int = 64) -> np.ndarray:
    return np.random.default_rng(seed).integers(-5000, 5000, (channels, seconds * sfreq))
