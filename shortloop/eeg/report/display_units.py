"""Units as they are read: microvolts rather than volts."""

from __future__ import annotations

import math

__all__ = ["limit_text", "readable", "scaled"]

VOLTS = ("eeg", "eog", "ecg", "emg", "ecog", "seeg", "dbs")
UNITS = {**dict.fromkeys(VOLTS, "V"), "mag": "T", "grad": "T/m"}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SCALES = {
    "V": (1e6, "µV"),
    "V²": (1e12, "µV²"),
    "T": (1e15, "fT"),
    "T²": (1e30, "fT²"),
    "T/m": (1e13, "fT/cm"),
    "T²/m²": (1e26, "fT²/cm²"),
    "V/m²": (1e6, "µV/m²"),
    "V²/m⁴": (1e12, "µV²/m⁴"),
}


def readable(unit: str) -> tuple[float, str]:
    """A unit in which a signal is easy to read."""
    return SCALES.get(unit, (1.0, unit or "arbitrary unit"))


def scaled(unit: str, largest: float) -> tuple[float, str]:
    """A unit in which values of some size are easy to read, with a power of ten where no other is."""
    factor, said = readable(unit)
    size = abs(factor * largest)
    if not 0 < size < math.inf or 1e-2 <= size < 1e4:
        return factor, said
    power = 3 * math.floor(math.log10(size) / 3)
    return factor / 10.0**power, f"10{str(power).translate(RAISED)} {said}"


def limit_text(kind: str, value: float) -> str:
    """A limit of amplitudes, as it is read."""
    if kind not in UNITS:
        return f"{value:g} in SI units"
    factor, unit = readable(UNITS[kind])
    return f"{factor * value:g} {unit}"
