"""Names of events from columns, rows chosen by a query, and events in datasets of EEGLAB."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd

from shortloop.base.errors import InputError
from shortloop.eeg.formats.epochs.gaps import is_mark
from shortloop.eeg.formats.epochs.settings import EpochedInput, events_beside
from shortloop.eeg.formats.sessions import refuse_unknown

SHOWN = 20  # names of columns in a message


def select_by_columns(signal: Any, settings: EpochedInput, file: Path) -> Any:
    """Name and select events by metadata of epochs or fields of EEGLAB, if the study asks for it.

    A table beside a continuous recording is read later.
    """
    if settings.event_column is None and settings.event_query is None:
        return signal
    of_set = file.suffix == ".set"
    if isinstance(signal, mne.BaseEpochs):
        table = _fields_of_epochs(file) if of_set and signal.metadata is None else signal.metadata
        if table is None or len(table) != len(signal):
            raise _nowhere(settings, "epochs without metadata")
        names, kept = _asked(table, settings)
        chosen = signal.load_data()[np.flatnonzero(kept)]
        if names is not None:
            chosen.event_id = {name: number for number, name in enumerate(sorted({*names[kept]}), start=1)}
            chosen.events[:, 2] = [chosen.event_id[name] for name in names[kept]]
        return chosen
    if events_beside(file) and settings.event_source in (None, "tsv"):
        return signal
    if not of_set:
        raise _nowhere(settings, "no table NAME_events.tsv beside the recording")
    table = _fields_of_events(file)
    names, kept = _asked(table, settings)
    names = table["type"].map(event_name).to_numpy(str) if names is None else names
    marks = signal.annotations[[is_mark(str(each)) for each in signal.annotations.description]]
    onsets = (table["latency"].to_numpy(float) - 1) / signal.info["sfreq"]
    kept &= ~np.array([is_mark(event_name(each)) for each in table["type"]])
    signal.set_annotations(mne.Annotations(onsets[kept], 0.0, names[kept]) + marks)
    return signal


def rows_that_pass(table: pd.DataFrame, query: str | None) -> np.ndarray:
    """Evaluate a query of `pandas.DataFrame.query` for each row."""
    if query is None:
        return np.ones(len(table), dtype=bool)
    numbered = table.reset_index(drop=True)
    columns = ", ".join(map(str, [*table.columns][:SHOWN]))
    try:
        passing = numbered.eval(query, engine="python", local_dict={}, global_dict={})
        if not isinstance(passing, pd.Series) or not pd.api.types.is_bool_dtype(passing.dtype):
            raise TypeError("neither true nor false of each event")  # numbers would select rows by position
    except Exception as error:  # whatever an expression can raise
        raise InputError(
            "the query of events cannot be answered",
            field="input.event_query",
            found=f"{query} ({type(error).__name__}: {error})",
            expected=f"an expression as of pandas.DataFrame.query, of the columns {columns}",
        ) from None
    found: np.ndarray = passing.fillna(False).to_numpy(dtype=bool)
    if not found.any():
        raise InputError(
            "no event passes the query",
            field="input.event_query",
            found=f"{query}: true for none of {len(table)} rows with the columns {columns}",
            hint="look at the values of these columns: numbers are compared with numbers, texts with texts "
            "in quotes",
        )
    return found


def _asked(table: pd.DataFrame, settings: EpochedInput) -> tuple[np.ndarray | None, np.ndarray]:
    """Return names of events from the column, if one is named, and which events are selected."""
    kept = rows_that_pass(table, settings.event_query)
    column = settings.event_column
    if column is None:
        return None, kept
    expected = f"one of {', '.join(map(str, [*table.columns][:SHOWN]))}"
    refuse_unknown([column], table, "no such event column", "input.event_column", expected)
    names = np.array([event_name(each) for each in table[column]], dtype=str)
    return names, kept & table[column].notna().to_numpy() & (names != "") & (names != "n/a")


def _fields_of_events(file: Path) -> pd.DataFrame:
    """Return the events of a continuous dataset of EEGLAB, a row each."""
    events = _read_dataset(file, "event").get("event")
    if isinstance(events, dict):
        events = {name: _listed(values) for name, values in events.items()}
    return pd.DataFrame(events).map(_plain).infer_objects()


def _fields_of_epochs(file: Path) -> pd.DataFrame | None:
    """Return the fields of the event at 0 ms of each epoch of EEGLAB."""
    epochs, half = _epochs_of(file)
    rows = []
    for epoch in epochs:
        away = [abs(float(np.squeeze(each))) for each in _listed(epoch["eventlatency"])]
        at = int(np.argmin(away))
        fields = {name.removeprefix("event"): _listed(value) for name, value in epoch.items()}
        found = {name: values[at] for name, values in fields.items() if name and len(values) == len(away)}
        rows.append(found if away[at] < half else {})
    return pd.DataFrame(rows).map(_plain).infer_objects() if rows else None


def _plain(value: Any) -> Any:
    """Return a number or text; NaN for MATLAB's empty array."""
    if isinstance(value, str):
        return value
    flat = np.ravel(value)
    return flat[0].item() if flat.size == 1 and hasattr(flat[0], "item") else flat[0] if flat.size else np.nan


def _nowhere(settings: EpochedInput, found: str) -> InputError:
    field = "event_column" if settings.event_column is not None else "event_query"
    return InputError(
        "events have no columns",
        field=f"input.{field}",
        found=found,
        expected="a table NAME_events.tsv, metadata of epochs, or fields of EEGLAB's events",
        hint=f"write such a table beside the recording, or leave {field} out",
    )


def name_by_events(epochs: Any, file: Path) -> None:
    """Name epochs of EEGLAB by the event at 0 ms; if all are locked to one, by all events that they have."""
    locked, every = [], []
    found, half = _epochs_of(file)
    for epoch in found:
        names = [event_name(kind) for kind in _listed(epoch["eventtype"])]
        pairs = zip(names, _listed(epoch["eventlatency"]), strict=True)
        at_zero = [name for name, latency in pairs if abs(float(np.squeeze(latency))) < half]
        locked.append("/".join(at_zero))
        every.append("/".join(dict.fromkeys([*at_zero, *names])))
    if len({*locked}) == 1 and len({*every}) > 1:  # a photodiode, or a response: classes are beside it
        locked = every
    if len(locked) == len(epochs) and all(locked):
        epochs.event_id = {name: number for number, name in enumerate(sorted(set(locked)), start=1)}
        epochs.events[:, 2] = [epochs.event_id[name] for name in locked]


def _epochs_of(file: Path) -> tuple[list[dict[str, Any]], float]:
    """Return the epochs of a dataset of EEGLAB, none if they have no events, and half a sample in ms."""
    content = _read_dataset(file, "epoch")
    epochs: Any = content.get("epoch")
    if isinstance(epochs, dict):  # by field, not by epoch
        lists = {name: values for name, values in epochs.items() if name.startswith("event")}
        epochs = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    known = isinstance(epochs, list) and all(
        isinstance(each, dict) and {"eventtype", "eventlatency"} <= each.keys() for each in epochs
    )
    return (epochs if known else []), 500 / float(content["srate"])


def _read_dataset(file: Path, *names: str) -> dict[str, Any]:
    """Read fields of a dataset of EEGLAB, and its sampling rate, saved by any version of MATLAB."""
    from pymatreader import read_mat

    content: dict[str, Any] = read_mat(file, variable_names=["EEG", "srate", *names])
    found: dict[str, Any] = content.get("EEG", content)
    return found


def _listed(value: Any) -> list[Any]:
    """List the items of a list or array, or a single item."""
    return [value] if isinstance(value, str) or not hasattr(value, "__len__") else list(value)


def event_name(kind: Any) -> str:
    """Write an event's type as text; MATLAB and pandas keep whole numbers as floats."""
    text = str(kind)
    return text.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", text) else text
