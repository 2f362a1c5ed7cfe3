"""Events of a continuous recording: in a table beside it, in its annotations, or in a channel of codes."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mne
import numpy as np

from shortloop.base.errors import InputError
from shortloop.eeg.formats.epochs.event_columns import event_name, rows_that_pass
from shortloop.eeg.formats.epochs.events_tsv import read_events
from shortloop.eeg.formats.epochs.gaps import is_mark, mark_gaps
from shortloop.eeg.formats.epochs.settings import Edge, EpochedInput, Section, events_beside
from shortloop.eeg.formats.sessions import refuse_unknown

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

    def onsets(self) -> dict[str, np.ndarray]:
        """Return the samples of the events of each name."""
        return {name: self.events[self.events[:, 2] == number, 0] for name, number in self.ids.items()}


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
        found = readers[source]()
        if found is None:
            continue
        if _matching(found.ids, wanted):
            return found
        if first is None or (found.seen and not first.seen):
            first = found
    if first is None:
        tables = [f"row with an onset and an event in {path.name}" for path in events_beside(file)]
        looked_for = [tables[0] if source == "tsv" and tables else SOURCES[source] for source in sources]
        raise InputError(
            "the recording has no events",
            field="input.event_source",
            found=f"no {' and no '.join(looked_for)}",
            hint="put a table NAME_events.tsv with the columns onset and trial_type beside it",
        )
    return first


def labels_of(ids: dict[str, int], wanted: dict[str, int], classes: Sequence[str]) -> dict[int, int]:
    """Map numbers of events to classes."""
    labels: dict[int, int] = {}
    for name, label in _matching(ids, wanted):
        if labels.setdefault(ids[name], label) != label:
            raise InputError(
                "an event belongs to two classes",
                field="input.events",
                found=f"{name} in {classes[labels[ids[name]]]} and {classes[label]}",
                expected="each event in one class",
                hint="correct [input.events] in the study file",
            )
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
    raw.annotations.delete(
        np.flatnonzero([NO_EVENTS.match(name) is not None and name in wanted for name in names])
    )
    return Found("annotations", events, ids, seen)


def _of_table(raw: Any, settings: EpochedInput, wanted: dict[str, int], file: Path) -> Found | None:
    path = next(iter(events_beside(file)), None)
    if path is None:
        return None
    rows = read_events(
        path,
        column=settings.event_column,
        unit=settings.event_unit,
        sfreq=raw.info["sfreq"],
        seconds=raw.n_times / raw.info["sfreq"],
    )
    if rows is None:
        return None
    if settings.event_query is not None:
        passing = rows_that_pass(rows.typed(), settings.event_query)
        rows = rows.only(passing | [is_mark(name) for name in rows.names])
    descriptions = np.array([event_name(name) for name in rows.names], dtype=str)
    # Marks of stretches are no events, in the table or in the recording.
    marks = np.array([NO_EVENTS.match(name) is not None for name in descriptions], dtype=bool)
    bad = raw.annotations[[NO_EVENTS.match(str(each)) is not None for each in raw.annotations.description]]
    raw.set_annotations(mne.Annotations(rows.onsets, rows.durations * marks, descriptions))
    found = _of_annotations(raw, wanted)
    mark_gaps(raw)
    raw.annotations.append(bad.onset, bad.duration, bad.description)
    return None if found is None else Found("tsv", found.events, found.ids, found.seen)


def _of_channel(raw: Any, settings: EpochedInput) -> Found | None:
    if settings.stim_channel is not None:
        channels = [settings.stim_channel]
        refuse_unknown(
            channels, raw.ch_names, "the channel of codes is not in the file", "input.stim_channel"
        )
    else:
        channels = _channels_of_codes(raw)
    if not channels:
        return None
    events = mne.find_events(raw, stim_channel=channels, shortest_event=1)
    changes = mne.find_events(raw, stim_channel=channels, shortest_event=1, consecutive=True)
    if len(changes) > len(events):
        warnings.warn(
            f"{len(changes) - len(events)} changes of {', '.join(channels)} to a smaller code, with no 0 "
            f"before it, are no events, beside {len(events)} that are: where codes are held until the next "
            "one, put a table NAME_events.tsv beside it",
            stacklevel=2,
        )
    seen = Counter(str(code) for code in events[:, 2])
    return Found("stim", events, {name: int(name) for name in seen}, seen)


def _channels_of_codes(raw: Any) -> list[str]:
    """Choose as MNE does, but ignore its setting MNE_STIM_CHANNEL, which is in no key."""
    stim = [name for name, kind in zip(raw.ch_names, raw.get_channel_types(), strict=True) if kind == "stim"]
    return next(([name] for name in COMBINED if stim and name in raw.ch_names), stim)


def events_within(
    found: Found, raw: Any, sections: Mapping[str, Section], phase: str
) -> tuple[Found, list[list[float]]]:
    """Select events in the sections of a phase; also return the sections' times, s."""
    own = sections[phase]
    end = raw.first_samp + raw.n_times
    starts = _samples(own.start, raw.first_samp, found, raw)
    if not starts:
        counts = [f"{name} ({count} times)" for name, count in found.seen.most_common(20)]
        raise InputError(
            f"the section of the {phase} phase does not begin",
            field=f"input.sections.{phase}.start",
            found=f"no {own.start} among {', '.join(counts) or 'no events'}",
            expected="the name of an event, or a time in s",
        )
    if own.stop is None:
        begins = [at for each in sections.values() for at in _samples(each.start, raw.first_samp, found, raw)]
        stops = [*begins, end]
    else:
        stops = _samples(own.stop, end, found, raw)
    spans = [(start, min((stop for stop in stops if stop > start), default=-1)) for start in sorted(starts)]
    endless = [start for start, stop in spans if stop < 0]
    if endless:
        raise InputError(
            f"a section of the {phase} phase does not end",
            field=f"input.sections.{phase}.stop",
            found=f"no {own.stop} after it began at {(endless[0] - raw.first_samp) / raw.info['sfreq']:g} s",
            expected="an event, or a time in s, after each start",
        )
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
