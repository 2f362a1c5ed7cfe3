"""Events by columns: named by the values of one, and chosen by a query, such as right answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.eeg.formats.eeglab_events import listed, name_of, read_dataset
from shortloop.eeg.formats.epoching import events_beside
from shortloop.eeg.formats.joined_pieces import is_mark

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.eeg.formats.epoching import EpochedInput

__all__ = ["by_columns", "rows_that_pass"]

SHOWN = 20  # names of columns in a message


def by_columns(signal: Any, settings: EpochedInput, file: Path, participant: str) -> Any:
    """Name and choose the events of a recording by metadata of epochs or fields of EEGLAB, if that is asked.

    A table beside a continuous recording is left to who reads it.
    """
    import mne

    if settings.event_column is None and settings.event_query is None:
        return signal
    of_set = file.suffix == ".set"
    if isinstance(signal, mne.BaseEpochs):
        table = _fields_of_epochs(file) if of_set and signal.metadata is None else signal.metadata
        if table is None or len(table) != len(signal):
            raise _nowhere(settings, file, participant, "epochs without metadata")
        names, kept = _asked(table, settings, file, participant)
        chosen = signal.load_data()[np.flatnonzero(kept)]
        if names is not None:
            chosen.event_id = {name: number for number, name in enumerate(sorted({*names[kept]}), start=1)}
            chosen.events[:, 2] = [chosen.event_id[name] for name in names[kept]]
        return chosen
    if events_beside(file) and settings.event_source in (None, "tsv"):
        return signal
    if not of_set:
        raise _nowhere(settings, file, participant, "no table NAME_events.tsv beside the recording")
    table = _fields_of_events(file)
    names, kept = _asked(table, settings, file, participant)
    names = table["type"].map(name_of).to_numpy(str) if names is None else names
    marks = signal.annotations[[is_mark(str(each)) for each in signal.annotations.description]]
    onsets = (table["latency"].to_numpy(float) - 1) / signal.info["sfreq"]
    kept &= ~np.array([is_mark(name_of(each)) for each in table["type"]])
    signal.set_annotations(mne.Annotations(onsets[kept], 0.0, names[kept]) + marks)
    return signal


def rows_that_pass(table: pd.DataFrame, query: str | None, file: Path, participant: str) -> np.ndarray:
    """True for each row for which a query of `pandas.DataFrame.query` is true."""
    import pandas as pd

    if query is None:
        return np.ones(len(table), dtype=bool)
    numbered = table.reset_index(drop=True)
    where = {"participant": participant, "field": "input.event_query"}
    columns = ", ".join(map(str, [*table.columns][:SHOWN]))
    try:
        passing = numbered.eval(query, engine="python", local_dict={}, global_dict={})
        if not isinstance(passing, pd.Series) or not pd.api.types.is_bool_dtype(passing.dtype):
            raise TypeError("neither true nor false of each event")  # numbers would choose rows by number
    except Exception as error:  # whatever an expression can raise
        raise InputError(
            "the query of events cannot be answered",
            file=file,
            **where,
            found=f"{query} ({type(error).__name__}: {error})",
            expected=f"an expression as of pandas.DataFrame.query, of the columns {columns}",
        ) from None
    found: np.ndarray = passing.fillna(False).to_numpy(dtype=bool)
    if not found.any():
        raise InputError(
            "no event passes the query",
            file=file,
            **where,
            found=f"{query}: true for none of {len(table)} rows with the columns {columns}",
            hint="look at the values of these columns: numbers are compared with numbers, texts with texts "
            "in quotes",
        )
    return found


def _asked(
    table: pd.DataFrame, settings: EpochedInput, file: Path, participant: str
) -> tuple[np.ndarray | None, np.ndarray]:
    """Names of events by the column, if one is named, and which of them are asked for."""
    kept = rows_that_pass(table, settings.event_query, file, participant)
    column = settings.event_column
    if column is None:
        return None, kept
    if column not in table:
        raise InputError(
            "no such event column",
            participant=participant,
            file=file,
            field="input.event_column",
            found=column,
            expected=f"one of {', '.join(map(str, [*table.columns][:SHOWN]))}",
        )
    names = np.array([name_of(each) for each in table[column]], dtype=str)
    return names, kept & table[column].notna().to_numpy() & (names != "") & (names != "n/a")


def _fields_of_events(file: Path) -> pd.DataFrame:
    """Events of a continuous dataset of EEGLAB, a row each."""
    import pandas as pd

    events = read_dataset(file, "event").get("event")
    if isinstance(events, dict):
        events = {name: listed(values) for name, values in events.items()}
    table = pd.DataFrame(events)
    return table.map(_plain).infer_objects()


def _fields_of_epochs(file: Path) -> pd.DataFrame | None:
    """Of each epoch of EEGLAB the fields of the event that it is locked to, at 0 ms."""
    import pandas as pd

    content = read_dataset(file, "epoch")
    epochs, half = content.get("epoch"), 500 / float(content["srate"])
    if isinstance(epochs, dict):
        lists = {name: values for name, values in epochs.items() if name.startswith("event")}
        epochs = [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]
    if not isinstance(epochs, list) or not all("eventlatency" in each for each in epochs):
        return None
    rows = []
    for epoch in epochs:
        away = [abs(float(np.squeeze(each))) for each in listed(epoch["eventlatency"])]
        at = int(np.argmin(away))
        fields = {name.removeprefix("event"): listed(value) for name, value in epoch.items()}
        found = {name: values[at] for name, values in fields.items() if name and len(values) == len(away)}
        rows.append(found if away[at] < half else {})
    return pd.DataFrame(rows).map(_plain).infer_objects()


def _plain(value: Any) -> Any:
    """A number or text; NaN for the empty array that MATLAB has for nothing."""
    if isinstance(value, str):
        return value
    flat = np.ravel(value)
    return flat[0].item() if flat.size == 1 and hasattr(flat[0], "item") else flat[0] if flat.size else np.nan


def _nowhere(settings: EpochedInput, file: Path, participant: str, found: str) -> InputError:
    field = "event_column" if settings.event_column is not None else "event_query"
    return InputError(
        "events have no columns",
        participant=participant,
        file=file,
        field=f"input.{field}",
        found=found,
        expected="a table NAME_events.tsv, metadata of epochs, or fields of EEGLAB's events",
        hint=f"write such a table beside the recording, or leave {field} out",
    )
