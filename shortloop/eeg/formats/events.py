"""Events of a continuous recording: in a table beside it, in its annotations, or in a channel of codes."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.eeg.formats.event_columns import rows_that_pass
from shortloop.eeg.formats.events_tsv import read_events
from shortloop.eeg.formats.joined_pieces import is_mark, mark_gaps

if TYPE_CHECKING:
    import numpy as np

    from shortloop.eeg.formats.epoching import EpochedInput

__all__ = ["Found", "find_events", "labels_of", "matching"]

COMBINED = ("STI101", "STI 014")  # channels of Neuromag with the codes of all others
NO_EVENTS = re.compile(r"(?i)bad|edge")  # what names begin with that MNE takes for no events


@dataclass(frozen=True)
class Found:
    """Events of a recording.

    source: where they are.
    events: int, (events, 3). As MNE has them: sample, 0, number.
    ids: number of each name.
    seen: how many there are of each name.
    """

    source: str
    events: np.ndarray
    ids: dict[str, int]
    seen: Counter[str]

    def onsets(self) -> dict[str, np.ndarray]:
        """Samples at which there are events of each name."""
        return {name: self.events[self.events[:, 2] == number, 0] for name, number in self.ids.items()}


def find_events(
    raw: Any, settings: EpochedInput, wanted: dict[str, int], file: Path, participant: str
) -> Found:
    """Events of a continuous recording."""
    readers = {"tsv": _of_table, "annotations": _of_annotations, "stim": _of_channel}
    sources = [settings.event_source] if settings.event_source else list(readers)
    first: Found | None = None
    for source in sources:
        found = readers[source](raw, settings, file, participant, wanted)
        if found is None:
            continue
        if matching(found.ids, wanted):
            return found
        if first is None or (found.seen and not first.seen):
            first = found
    if first is None:
        raise InputError(
            "the recording has no events",
            participant=participant,
            file=file,
            field="input.event_source",
            found=f"no {' and no '.join(_word(source, file) for source in sources)}",
            hint="put a table NAME_events.tsv with the columns onset and trial_type beside it",
        )
    return first


_WORDS = {"tsv": "NAME_events.tsv beside it", "annotations": "annotations", "stim": "channel of codes"}


def _word(source: str, file: Path) -> str:
    from shortloop.eeg.formats.epoching import events_beside

    there = events_beside(file) if source == "tsv" else []
    return f"row with an onset and an event in {there[0].name}" if there else _WORDS[source]


def labels_of(
    ids: dict[str, int], wanted: dict[str, int], classes: Sequence[str], file: Path, participant: str
) -> dict[int, int]:
    """Numbers of events to classes."""
    labels: dict[int, int] = {}
    for name, label in matching(ids, wanted):
        if labels.setdefault(ids[name], label) != label:
            raise InputError(
                "an event belongs to two classes",
                participant=participant,
                file=file,
                field="input.events",
                found=f"{name} in {classes[labels[ids[name]]]} and {classes[label]}",
                expected="each event in one class",
                hint="correct [input.events] in the study file",
            )
    return labels


def matching(ids: dict[str, int], wanted: dict[str, int]) -> list[tuple[str, int]]:
    """Events that names in a study stand for."""
    import mne

    return [
        (name, label)
        for event, label in wanted.items()
        for name in mne.event.match_event_names(ids, [event], on_missing="ignore")
        if name == event or name not in wanted  # one that is named as a whole is of no class by its parts
    ]


def _of_annotations(
    raw: Any, settings: EpochedInput, file: Path, participant: str, wanted: dict[str, int]
) -> Found | None:
    import mne
    import numpy as np

    names = [str(name) for name in raw.annotations.description]
    seen = Counter(names)
    stretches = {name for name in seen if NO_EVENTS.match(name) and name not in wanted}
    if not seen.keys() - stretches:
        return None
    ids = {name: number for number, name in enumerate(sorted(seen), start=1)}
    of_events = {name: number for name, number in ids.items() if name not in stretches}
    events, _ = mne.events_from_annotations(raw, event_id=of_events, regexp=None)
    # Of a class that is called "bad", nothing may take its own events for stretches to leave out.
    raw.annotations.delete(
        np.flatnonzero([NO_EVENTS.match(name) is not None and name in wanted for name in names])
    )
    return Found("annotations", events, ids, seen)


def _of_table(
    raw: Any, settings: EpochedInput, file: Path, participant: str, wanted: dict[str, int]
) -> Found | None:
    import mne
    import numpy as np

    from shortloop.eeg.formats.epoching import events_beside

    path = next(iter(events_beside(file)), None)
    if path is None:
        return None
    rows = read_events(
        path,
        column=settings.event_column,
        unit=settings.event_unit,
        sfreq=raw.info["sfreq"],
        seconds=raw.n_times / raw.info["sfreq"],
        participant=participant,
        file=file,
    )
    if rows is None:
        return None
    if settings.event_query is not None:
        passing = rows_that_pass(rows.typed(), settings.event_query, file, participant)
        rows = rows.only(passing | [is_mark(name) for name in rows.names])
    descriptions = np.array([_as_code(name) for name in rows.names], dtype=str)
    # What marks stretches is no event, whether the table has it or the recording.
    marks = np.array([NO_EVENTS.match(name) is not None for name in descriptions], dtype=bool)
    bad = raw.annotations[[NO_EVENTS.match(str(each)) is not None for each in raw.annotations.description]]
    raw.set_annotations(mne.Annotations(rows.onsets, rows.durations * marks, descriptions))
    found = _of_annotations(raw, settings, file, participant, wanted)
    mark_gaps(raw)
    raw.annotations.append(bad.onset, bad.duration, bad.description)
    return None if found is None else Found("tsv", found.events, found.ids, found.seen)


def _of_channel(
    raw: Any, settings: EpochedInput, file: Path, participant: str, wanted: dict[str, int]
) -> Found | None:
    import mne

    if settings.stim_channel is not None and settings.stim_channel not in raw.ch_names:
        raise InputError(
            "the channel of codes is not in the file",
            participant=participant,
            file=file,
            field="input.stim_channel",
            found=settings.stim_channel,
            expected=f"a name among {', '.join(raw.ch_names)}",
        )
    channels = [settings.stim_channel] if settings.stim_channel is not None else _channels_of_codes(raw)
    if not channels:
        return None
    events = mne.find_events(raw, stim_channel=channels, shortest_event=1)
    changes = mne.find_events(raw, stim_channel=channels, shortest_event=1, consecutive=True)
    if len(changes) > len(events):
        warnings.warn(
            f"{participant}, {file.name}: {len(changes) - len(events)} changes of {', '.join(channels)} to a "
            f"smaller code, with no 0 before it, are no events, beside {len(events)} that are: where "
            "codes are held until the next one, put a table NAME_events.tsv beside it",
            stacklevel=2,
        )
    seen = Counter(str(code) for code in events[:, 2])
    return Found("stim", events, {name: int(name) for name in seen}, seen)


def _channels_of_codes(raw: Any) -> list[str]:
    """As MNE chooses, but for what its user has set (MNE_STIM_CHANNEL), which no key of a job holds."""
    stim = [name for name, kind in zip(raw.ch_names, raw.get_channel_types(), strict=True) if kind == "stim"]
    return next(([name] for name in COMBINED if stim and name in raw.ch_names), stim)


def _as_code(name: str) -> str:
    """A name as it is; of a number that is whole, without its point."""
    return name.removesuffix(".0") if re.fullmatch(r"-?\d+\.0", name) else name
