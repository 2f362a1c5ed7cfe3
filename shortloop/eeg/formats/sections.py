"""Parts of one continuous recording that belong to different phases of the experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.eeg.formats.epoching import Edge, Section

if TYPE_CHECKING:
    from shortloop.eeg.formats.events import Found

__all__ = ["events_within"]


def events_within(
    found: Found, raw: Any, sections: Mapping[str, Section], phase: str, file: Path, participant: str
) -> tuple[Found, list[list[float]]]:
    """Events that are in the sections of a phase."""
    import numpy as np

    own = sections[phase]
    end = raw.first_samp + raw.n_times
    starts = _samples(own.start, raw.first_samp, found, raw)
    if not starts:
        raise InputError(
            f"the section of the {phase} phase does not begin",
            field=f"input.sections.{phase}.start",
            found=f"no {own.start} among {_seen(found)}",
            expected="the name of an event, or a time in s",
            file=file,
            participant=participant,
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
            file=file,
            participant=participant,
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
    """Samples of an edge, as the recording counts them."""
    from shortloop.eeg.formats.events import matching

    if edge is None:
        return [default]
    if not isinstance(edge, str):
        return [raw.first_samp + round(edge * raw.info["sfreq"])]
    numbers = {found.ids[name] for name, _ in matching(found.ids, {edge: 0})}
    return [int(sample) for sample, _, number in found.events if number in numbers]


def _seen(found: Found) -> str:
    return ", ".join(f"{name} ({count} times)" for name, count in found.seen.most_common(20)) or "no events"
