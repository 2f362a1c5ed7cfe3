"""What some formats have to be told of files, found in one of them."""

from __future__ import annotations

from pathlib import Path

from shortloop.eeg.formats.mat73 import read_struct, variables

__all__ = ["options_of"]

USUAL = "data"  # variable of FieldTrip's structs
LARGEST = 0.01  # of a signal in V


def options_of(format: str, file: Path) -> dict[str, object]:
    """Fields of a format that are not its defaults.

    Parameters
    ----------
    format : str
        Its name.
    file : Path
        One of the recordings; the others are taken to be like it.

    Returns
    -------
    dict
    """
    if format == "fieldtrip":
        return _of_fieldtrip(file)
    return _of_arrays(file) if format == "npz" else {}


def _of_fieldtrip(file: Path) -> dict[str, object]:
    names = variables(file)
    if len(names) == 1 or USUAL in names:
        return {}
    for name in names:
        struct = read_struct(file, name)
        if isinstance(struct, dict) and {"label", "time", "trial"} <= struct.keys():
            return {"variable": name}
    return {}


def _of_arrays(file: Path) -> dict[str, object]:
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as content:
            first = np.asarray(content["X"][:1], dtype=float)
    except (OSError, ValueError, KeyError):  # reading it says what is wrong
        return {}
    return {} if not first.size or np.abs(first).max() < LARGEST else {"unit": "µV"}
