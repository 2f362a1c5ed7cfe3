"""Events of a continuous recording: in a table beside it, in its annotations, or in a channel of codes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import mne
import numpy as np
import pandas as pd

from shortloop.base.errors import InputError, warn
from shortloop.eeg.formats.epochs.events_tsv import read_events
from shortloop.eeg.formats.epochs.gaps import is_mark, mark_gaps
from shortloop.eeg.formats.epochs.settings import Edge, EpochedInput, Section, events_beside
from shortloop.eeg.formats.files.delimited import NO_EVENT
from shortloop.eeg.formats.recording_format import refuse_unknown, set_class
from shortloop.eeg.headers.mat import listed

SHOWN = 20  # names of columns in a message
COMBINED = ("STI101", "STI 014")  # channels of Neuromag with the codes of all others
NO_EVENTS = re.compile(r"(?i)bad|edge")  # prefixes of annotations that are no events to MNE
SOURCES = {"tsv": "NAME_events.tsv beside it", "annotations": "annotations", "stim": "channel of codes"}


@dataclass(frozen=True)
class Found:
    """Events of a recording."""

    source: str  # "tsv", "annotations", "stim" or "epochs"
    events: np.ndarray  # int, (events, 3), as in MNE: sample, 0, number
    ids: dict[str, int]  # number of each name
    seen: Counter[str]  # count of each name


def find_events(raw: Any, settings: EpochedInput, wanted: dict[str, int], file: Path) -> Found:
    """Find the events of a continuous recording; the first source with events of a class counts."""
    readers = {
        "tsv": lambda: _of_table(raw, settings, wanted, file),
        "annotations": lambda: _of_annotations(raw, wanted),
        "stim": lambda: _of_channel(raw, settings),
    }
    sources = [settings.event_source] if settings.event_source else list(readers)
    first: Found | None = None
    for source in sources:
        if (found := readers[source]()) is None:
            continue
        if _matching(found.ids, wanted):
            return found
        if first is None or (found.seen and not first.seen):
            first = found
    if first is None:
        tables = [f"row with an onset and an event in {path.name}" for path in events_beside(file)]
        looked_for = [tables[0] if source == "tsv" and tables else SOURCES[source] for source in sources]
        problem = "the recording has no events"
        field = "input.event_source"
        hint = "put a table NAME_events.tsv with the columns onset and trial_type beside it"
        raise InputError(problem, field=field, found=f"no {' and no '.join(looked_for)}", hint=hint)
    return first


def labels_of(ids: dict[str, int], wanted: dict[str, int], classes: Sequence[str]) -> dict[int, int]:
    labels: dict[int, int] = {}
    for name, label in _matching(ids, wanted):
        set_class(labels, ids[name], label, name, classes)
    return labels


def _matching(ids: dict[str, int], wanted: dict[str, int]) -> list[tuple[str, int]]:
    """Match events with the names of a study, and return each with its class."""
    return [
        (name, label)
        for event, label in wanted.items()
        for name in mne.event.match_event_names(ids, [event], on_missing="ignore")
        if name == event or name not in wanted  # parts of a name do not count if it is named as a whole
    ]


def _of_annotations(raw: Any, wanted: dict[str, int]) -> Found | None:
    names = [str(name) for name in raw.annotations.description]
    seen = Counter(names)
    stretches = {name for name in seen if NO_EVENTS.match(name) and name not in wanted}
    if not seen.keys() - stretches:
        return None
    ids = {name: number for number, name in enumerate(sorted(seen), start=1)}
    of_events = {name: number for name, number in ids.items() if name not in stretches}
    events, _ = mne.events_from_annotations(raw, event_id=of_events, regexp=None)
    # Events of a class that is called "bad" are no stretches to leave out.
    odd = [NO_EVENTS.match(name) is not None and name in wanted for name in names]
    raw.annotations.delete(np.flatnonzero(odd))
    return Found("annotations", events, ids, seen)


def _of_table(raw: Any, settings: EpochedInput, wanted: dict[str, int], file: Path) -> Found | None:
    if (path := next(iter(events_beside(file)), None)) is None:
        return None
    rate, column, unit = raw.info["sfreq"], settings.event_column, settings.event_unit
    read = read_events(path, column=column, unit=unit, sfreq=rate, seconds=raw.n_times / rate)
    if read is None:
        return None
    rows, texts = read
    if settings.event_query is not None:
        typed = pd.read_csv(StringIO(texts.to_csv(index=False)), na_values=NO_EVENT)
        rows = rows[rows_that_pass(typed, settings.event_query) | [is_mark(name) for name in rows["name"]]]
    descriptions = np.array([event_name(name) for name in rows["name"]], dtype=str)
    # Marks of stretches are no events, in the table or in the recording.
    marks = np.array([NO_EVENTS.match(name) is not None for name in descriptions], dtype=bool)
    bad = raw.annotations[[NO_EVENTS.match(str(each)) is not None for each in raw.annotations.description]]
    raw.set_annotations(mne.Annotations(rows["onset"], rows["duration"] * marks, descriptions))
    found = _of_annotations(raw, wanted)
    mark_gaps(raw)
    raw.annotations.append(bad.onset, bad.duration, bad.description)
    return None if found is None else Found("tsv", found.events, found.ids, found.seen)


def _of_channel(raw: Any, settings: EpochedInput) -> Found | None:
    if settings.stim_channel is not None:
        channels, problem = [settings.stim_channel], "the channel of codes is not in the file"
        refuse_unknown(channels, raw.ch_names, problem, "input.stim_channel")
    else:
        # As MNE chooses, without its setting MNE_STIM_CHANNEL, which is in no key.
        kinds = zip(raw.ch_names, raw.get_channel_types(), strict=True)
        stim = [name for name, kind in kinds if kind == "stim"]
        channels = next(([name] for name in COMBINED if stim and name in raw.ch_names), stim)
    if not channels:
        return None
    events = mne.find_events(raw, stim_channel=channels, shortest_event=1)
    changes = mne.find_events(raw, stim_channel=channels, shortest_event=1, consecutive=True)
    if len(changes) > len(events):
        warn(
            f"{len(changes) - len(events)} changes of {', '.join(channels)} to a smaller code, with no 0 "
            f"before it, are no events, beside {len(events)} that are: where codes are held until the next "
            "one, put a table NAME_events.tsv beside it"
        )
    seen = Counter(str(code) for code in events[:, 2])
    return Found("stim", events, {name: int(name) for name in seen}, seen)


def events_within(
    found: Found, raw: Any, sections: Mapping[str, Section], phase: str
) -> tuple[Found, list[list[float]]]:
    """Select events in the sections of a phase; also return the sections' times, s."""
    own = sections[phase]
    end = raw.first_samp + raw.n_times
    if not (starts := _samples(own.start, raw.first_samp, found, raw)):
        counts = [f"{name} ({count} times)" for name, count in found.seen.most_common(20)]
        problem = f"the section of the {phase} phase does not begin"
        said = f"no {own.start} among {', '.join(counts) or 'no events'}"
        expected = "the name of an event, or a time in s"
        raise InputError(problem, field=f"input.sections.{phase}.start", found=said, expected=expected)
    if own.stop is None:
        begins = [at for each in sections.values() for at in _samples(each.start, raw.first_samp, found, raw)]
        stops = [*begins, end]
    else:
        stops = _samples(own.stop, end, found, raw)
    spans = [(start, min((stop for stop in stops if stop > start), default=-1)) for start in sorted(starts)]
    if endless := [start for start, stop in spans if stop < 0]:
        problem = f"a section of the {phase} phase does not end"
        said = f"no {own.stop} after it began at {(endless[0] - raw.first_samp) / raw.info['sfreq']:g} s"
        expected = "an event, or a time in s, after each start"
        raise InputError(problem, field=f"input.sections.{phase}.stop", found=said, expected=expected)
    at = found.events[:, 0]
    inside = np.zeros(len(at), dtype=bool)
    for start, stop in spans:
        inside |= (at >= start) & (at < stop)
    names = {number: name for name, number in found.ids.items()}
    kept = found.events[inside]
    times = [[(each - raw.first_samp) / float(raw.info["sfreq"]) for each in span] for span in spans]
    return replace(found, events=kept, seen=Counter(names[number] for number in kept[:, 2])), times


def _samples(edge: Edge | None, default: int, found: Found, raw: Any) -> list[int]:
    """Return the samples of an edge, counted as in the recording."""
    if edge is None:
        return [default]
    if not isinstance(edge, str):
        return [raw.first_samp + round(edge * raw.info["sfreq"])]
    numbers = {found.ids[name] for name, _ in _matching(found.ids, {edge: 0})}
    return [int(sample) for sample, _, number in found.events if number in numbers]


def select_events(signal: Any, settings: EpochedInput, file: Path) -> Any:
    """Name and select events by metadata of epochs or fields of EEGLAB, if the study asks for it."""
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
            _set_names(chosen, names[kept].tolist())
        return chosen
    if events_beside(file) and settings.event_source in (None, "tsv"):
        return signal  # the table is read later
    if not of_set:
        raise _nowhere(settings, "no table NAME_events.tsv beside the recording")
    fields = _read_dataset(file, "event").get("event")
    if isinstance(fields, dict):
        fields = {name: listed(values) for name, values in fields.items()}
    table = pd.DataFrame(fields).map(_plain).infer_objects()
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
        problem = "the query of events cannot be answered"
        said = f"{query} ({type(error).__name__}: {error})"
        expected = f"an expression as of pandas.DataFrame.query, of the columns {columns}"
        raise InputError(problem, field="input.event_query", found=said, expected=expected) from None
    found: np.ndarray = passing.fillna(False).to_numpy(dtype=bool)
    if not found.any():
        what = f"{query}: true for none of {len(table)} rows with the columns {columns}"
        hint = "look at their values: numbers are compared with numbers, texts with texts in quotes"
        raise InputError("no event passes the query", field="input.event_query", found=what, hint=hint)
    return found


def _asked(table: pd.DataFrame, settings: EpochedInput) -> tuple[np.ndarray | None, np.ndarray]:
    """Return names of events from the column, if one is named, and which events are selected."""
    kept = rows_that_pass(table, settings.event_query)
    if (column := settings.event_column) is None:
        return None, kept
    expected = f"one of {', '.join(map(str, [*table.columns][:SHOWN]))}"
    refuse_unknown([column], table, "no such event column", "input.event_column", expected)
    names = np.array([event_name(each) for each in table[column]], dtype=str)
    return names, kept & table[column].notna().to_numpy() & (names != "") & (names != "n/a")


def _fields_of_epochs(file: Path) -> pd.DataFrame | None:
    """Return the fields of the event at 0 ms of each epoch of EEGLAB."""
    epochs, half = _epochs_of(file)
    rows = []
    for epoch in epochs:
        away = [abs(float(np.squeeze(each))) for each in listed(epoch["eventlatency"])]
        at = int(np.argmin(away))
        fields = {name.removeprefix("event"): listed(value) for name, value in epoch.items()}
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
    problem = "events have no columns"
    expected = "a table NAME_events.tsv, metadata of epochs, or fields of EEGLAB's events"
    hint = f"write such a table beside the recording, or leave {field} out"
    return InputError(problem, field=f"input.{field}", found=found, expected=expected, hint=hint)


def name_by_events(epochs: Any, file: Path) -> Any:
    """Name epochs of EEGLAB by the event at 0 ms; if all are locked to one, by all events that they have."""
    locked, every = [], []
    found, half = _epochs_of(file)
    for epoch in found:
        names = [event_name(kind) for kind in listed(epoch["eventtype"])]
        pairs = zip(names, listed(epoch["eventlatency"]), strict=True)
        at_zero = [name for name, latency in pairs if abs(float(np.squeeze(latency))) < half]
        locked.append("/".join(at_zero))
        every.append("/".join(dict.fromkeys([*at_zero, *names])))
    if len({*locked}) == 1 and len({*every}) > 1:  # a photodiode, or a response: classes are beside it
        locked = every
    if len(locked) == len(epochs) and all(locked):
        _set_names(epochs, locked)
    return epochs


def _set_names(epochs: Any, names: Sequence[str]) -> None:
    epochs.event_id = {name: number for number, name in enumerate(sorted({*names}), start=1)}
    epochs.events[:, 2] = [epochs.event_id[name] for name in names]


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


def event_name(kind: Any) -> str:
    """Write an event's type as text; MATLAB and pandas keep whole numbers as floats."""
    text = str(kind)
    return text.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", text) else text
