"""Fields that some formats need, found in one of the files, and the choices where that leaves a doubt."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.eeg.formats.epochs.events_tsv import COLUMNS, NOTHING
from shortloop.eeg.formats.epochs.settings import events_beside
from shortloop.eeg.formats.fieldtrip import code_columns, in_words, table_of
from shortloop.eeg.formats.files.delimited import dialect_of, read_table
from shortloop.eeg.formats.xdf import eeg_streams
from shortloop.eeg.headers.mat import read_struct, variables
from shortloop.eeg.inspect.events import are_kinds
from shortloop.eeg.inspect.text_files import counts_samples, markers_in

__all__ = ["EVENT_COLUMN", "choices_of", "options_of"]

MOST = 12  # codes that a column of events has
FEWEST = 4  # trials of each
STRUCT = "data"  # usual variable of FieldTrip's structs
LARGEST = 0.01  # of a signal in V
EVENT_COLUMN = "event_column"
TIMES = ("onset", "duration", "sample", "response_time")
SHOWN = 6  # values of a column that are listed


def options_of(format: str, file: Path) -> dict[str, object]:
    """Return fields of a format that are not its defaults."""
    if format == "fieldtrip":
        return _fieldtrip_options(file)
    if format == "xdf":
        streams = eeg_streams(file)
        return {"stream": streams[0]} if len(streams) > 1 else {}
    return _array_options(file) if format == "npz" else _event_options(file)


def choices_of(format: str, file: Path, options: dict[str, object]) -> dict[str, str]:
    """Return the choices for each field that could as well be another."""
    if EVENT_COLUMN in options:
        columns = _event_columns(file)
        return {EVENT_COLUMN: _listed(columns)} if len(columns) > 1 else {}
    if format == "csv" and "marker" in options:
        return {"marker": _listed(markers_in(file))}
    if format == "csv" and options.get("time_unit") == "ms" and counts_samples(file):
        return {"time_unit": "ms, or numbers of samples: then write their rate in its place, as sfreq = 250"}
    if "stream" in options:
        return {"stream": ", ".join(eeg_streams(file))}
    if format != "fieldtrip" or "column" not in options:
        return {}
    names = variables(file)
    struct = read_struct(file, str(options.get("variable", names[0] if len(names) == 1 else STRUCT)))
    codes = code_columns(table_of(struct))
    likely = _likely(codes)
    return {} if len(likely) == 1 else {"column": in_words(likely or codes)}


def _fieldtrip_options(file: Path) -> dict[str, object]:
    names = variables(file)
    one = names[0] if len(names) == 1 else STRUCT if STRUCT in names else None
    for name in [one] if one else names:
        struct = read_struct(file, name)
        if isinstance(struct, dict) and {"label", "time", "trial"} <= struct.keys():
            columns = code_columns(table_of(struct))
            column = {"column": min(_likely(columns) or columns)} if len(columns) > 1 else {}
            return {**({} if one else {"variable": name}), **column}
    return {}


def _likely(columns: dict[int, Counter[int]]) -> dict[int, Counter[int]]:
    """Return columns whose codes look like those of events."""
    return {n: each for n, each in columns.items() if 2 <= len(each) <= MOST and min(each.values()) >= FEWEST}


def _event_options(file: Path) -> dict[str, object]:
    """Return the column of events, if it is not the usual one or that one has only kinds of events."""
    columns = _event_columns(file)
    usual, *more = COLUMNS
    codes = [name for name in more if _are_events(columns.get(name, Counter()))]
    if codes and len(columns.get(usual, ())) > 1 and are_kinds(columns[usual]):
        return {EVENT_COLUMN: codes[0]}  # trial_type tells stimuli from responses alone
    words = any(not value.isdecimal() for values in columns.values() for value in values)
    if usual in columns or not columns or ({*more} & {*columns} and not words):
        return {}
    return {EVENT_COLUMN: next(name for name in (*more, *columns) if name in columns)}


def _event_columns(file: Path) -> dict[str, Counter[str]]:
    """Count the values of columns that may have the events, in the table beside a recording."""
    table = next(iter(events_beside(file)), None)
    try:
        dialect = None if table is None else dialect_of(table)
        content = {} if table is None or dialect is None else read_table(table, dialect).fillna("")
    except (OSError, ValueError, InputError):  # the reader of the recording says what is wrong
        return {}
    counts = {str(name): Counter(column[~column.isin(NOTHING)]) for name, column in content.items()}
    return {
        name: values
        for name, values in counts.items()
        if name not in TIMES and (name in COLUMNS or _are_events(values))
    }


def _are_events(values: Counter[str]) -> bool:
    return len(values) <= MOST and sum(count >= FEWEST for count in values.values()) > 1


def _listed(columns: dict[str, Counter[str]]) -> str:
    said = []
    for name, values in columns.items():
        shown = [f"{value} ({count} times)" for value, count in values.most_common(SHOWN)]
        said.append(f"{name}: {', '.join(shown + ['…'] * (len(values) > SHOWN))}")
    return "; ".join(said)


def _array_options(file: Path) -> dict[str, object]:
    import numpy as np

    try:
        with np.load(file, allow_pickle=False) as content:
            first = np.asarray(content["X"][:1], dtype=float)
    except (OSError, ValueError, KeyError):  # the reader says what is wrong
        return {}
    return {} if not first.size or np.abs(first).max() < LARGEST else {"unit": "µV"}
