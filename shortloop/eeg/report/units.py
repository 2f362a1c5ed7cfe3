"""Units as they are read: microvolts rather than volts."""

from __future__ import annotations

__all__ = ["limit_text", "readable"]

VOLTS = ("eeg", "eog", "ecg", "emg", "ecog", "seeg", "dbs")
UNITS = {**dict.fromkeys(VOLTS, "V"), "mag": "T", "grad": "T/m"}
SCALES = {
    "V": (1e6, "µV"),
    "V²": (1e12, "µV²"),
    "T": (1e15, "fT"),
    "T²": (1e30, "fT²"),
    "T/m": (1e13, "fT/cm"),
}


def readable(unit: str) -> tuple[float, str]:
    """A unit in which a signal is easy to read.

    Parameters
    ----------
    unit : str
        Unit of the data.

    Returns
    -------
    factor : float
        What data are multiplied by.
    unit : str
        What they are in then.
    """
    return SCALES.get(unit, (1.0, unit or "arbitrary unit"))


def limit_text(kind: str, value: float) -> str:
    """A limit of amplitudes, as it is read.

    Parameters
    ----------
    kind : str
        Type of channel, as MNE calls it.
    value : float
        In V, T or T/m.

    Returns
    -------
    str
        E.g. ``"150 µV"``.
    """
    if kind not in UNITS:
        return f"{value:g} in SI units"
    factor, unit = readable(UNITS[kind])
    return f"{factor * value:g} {unit}"
