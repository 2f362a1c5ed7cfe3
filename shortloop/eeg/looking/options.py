"""What some formats have to be told of files, found in one of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from shortloop.eeg.formats.mat73 import read_struct, variables
from shortloop.eeg.formats.trialinfo import code_columns, in_words, table_of

__all__ = ["doubts_of", "options_of"]

MOST = 12  # codes that a column of events has
FEWEST = 4  # trials of each
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


def doubts_of(format: str, file: Path, options: dict[str, object]) -> dict[str, str]:
    """Options that could as well be others.

    Parameters
    ----------
    format, file
        As of `options_of`.
    options : dict
        What that gave.

    Returns
    -------
    dict of str to str
        What there is to choose from, by the name of the option.
    """
    if format != "fieldtrip" or "column" not in options:
        return {}
    names = variables(file)
    struct = read_struct(file, str(options.get("variable", names[0] if len(names) == 1 else USUAL)))
    columns = code_columns(table_of(struct))
    likely = _likely(columns)
    return {} if len(likely) == 1 else {"column": in_words(likely or columns)}


def _of_fieldtrip(file: Path) -> dict[str, object]:
    names = variables(file)
    one = names[0] if len(names) == 1 else USUAL if USUAL in names else None
    for name in [one] if one else names:
        struct = read_struct(file, name)
        if isinstance(struct, dict) and {"label", "time", "trial"} <= struct.keys():
            return {**({} if one else {"variable": name}), **_column(struct)}
    return {}


def _column(struct: dict[str, object]) -> dict[str, object]:
    """Of several columns of codes the one that looks like events; `doubts_of` says which others do."""
    columns = code_columns(table_of(struct))
    likely = _likely(columns)
    return {"column": min(likely or columns)} if len(columns) > 1 else {}


def _likely(columns: dict[int, Counter[int]]) -> dict[int, Counter[int]]:
    return {
        number: codes
        for number, codes in columns.items()
        if 2 <= len(codes) <= MOST and min(codes.values()) >= FEWEST
    }


def _of_arrays(file: Path) -> dict[str, object]:
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as content:
            first = np.asarray(content["X"][:1], dtype=float)
    except (OSError, ValueError, KeyError):  # reading it says what is wrong
        return {}
    return {} if not first.size or np.abs(first).max() < LARGEST else {"unit": "µV"}
