"""What some formats have to be told of files, found in one of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from shortloop.eeg.formats.delimited import dialect_of, read_table
from shortloop.eeg.formats.events_table import COLUMNS, NOTHING
from shortloop.eeg.formats.mat73 import read_struct, variables
from shortloop.eeg.formats.signals import events_beside
from shortloop.eeg.formats.trialinfo import code_columns, in_words, table_of
from shortloop.eeg.formats.xdf import eeg_streams
from shortloop.eeg.looking.classes import are_kinds
from shortloop.eeg.looking.table import counts_samples, markers_in
from shortloop.errors import InputError

__all__ = ["EVENT_COLUMN", "doubts_of", "options_of"]

MOST = 12  # codes that a column of events has
FEWEST = 4  # trials of each
USUAL = "data"  # variable of FieldTrip's structs
LARGEST = 0.01  # of a signal in V
EVENT_COLUMN = "event_column"
TIMES = ("onset", "duration", "sample", "response_time")
SHOWN = 6  # values of a column that are listed


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
    if format == "xdf":
        streams = eeg_streams(file)
        return {"stream": streams[0]} if len(streams) > 1 else {}
    return _of_arrays(file) if format == "npz" else _of_events(file)


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
    if EVENT_COLUMN in options:
        columns = _columns_of_events(file)
        said = "; ".join(f"{name}: {_few(values)}" for name, values in columns.items())
        return {EVENT_COLUMN: said} if len(columns) > 1 else {}
    if format == "csv" and "marker" in options:
        said = "; ".join(f"{name}: {_few(values)}" for name, values in markers_in(file).items())
        return {"marker": said}
    if format == "csv" and options.get("time_unit") == "ms" and counts_samples(file):
        return {"time_unit": "ms, or numbers of samples: then write their rate in its place, as sfreq = 250"}
    if "stream" in options:
        return {"stream": ", ".join(eeg_streams(file))}
    if format != "fieldtrip" or "column" not in options:
        return {}
    names = variables(file)
    struct = read_struct(file, str(options.get("variable", names[0] if len(names) == 1 else USUAL)))
    codes = code_columns(table_of(struct))
    likely = _likely(codes)
    return {} if len(likely) == 1 else {"column": in_words(likely or codes)}


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


def _of_events(file: Path) -> dict[str, object]:
    """Of a table of events beside a recording, without `trial_type`, the column that could be meant."""
    columns = _columns_of_events(file)
    usual, *more = COLUMNS
    worded = any(not value.isdecimal() for values in columns.values() for value in values)
    codes = [name for name in more if _is_of_events(columns.get(name, Counter()))]
    if codes and len(columns.get(usual, ())) > 1 and are_kinds(columns[usual]):
        return {EVENT_COLUMN: codes[0]}  # trial_type tells stimuli from responses alone
    if usual in columns or not columns or ({*more} & {*columns} and not worded):
        return {}
    return {EVENT_COLUMN: next((name for name in more if name in columns), next(iter(columns)))}


def _columns_of_events(file: Path) -> dict[str, Counter[str]]:
    """Columns whose values come again and again, and how often each does."""
    table = next(iter(events_beside(file)), None)
    if table is None:
        return {}
    try:
        dialect = dialect_of(table)
        content = {} if dialect is None else read_table(table, dialect).fillna("")
    except (OSError, ValueError, InputError):  # reading the recording says what is wrong
        return {}
    counts = {str(name): Counter(column[~column.isin(NOTHING)]) for name, column in content.items()}
    return {
        name: values
        for name, values in counts.items()
        if name not in TIMES and (name in COLUMNS or _is_of_events(values))
    }


def _is_of_events(values: Counter[str]) -> bool:
    return len(values) <= MOST and sum(count >= FEWEST for count in values.values()) > 1


def _few(values: Counter[str]) -> str:
    shown = [f"{name} ({count} times)" for name, count in values.most_common(SHOWN)]
    return ", ".join([*shown, "…"] if len(values) > SHOWN else shown)


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
