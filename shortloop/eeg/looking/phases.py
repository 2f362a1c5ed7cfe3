"""Two phases in the same recordings, told apart by words in the names of events: study/face, test/face."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from shortloop.eeg.looking.recorded import Recorded
from shortloop.eeg.looking.words import DECODED, TRAINING, as_name, words

__all__ = ["EventNames", "by_phase", "phases_in", "sections_in"]

EventNames = dict[str, dict[str, list[str]]]
"""Of each phase and event without the word of the phase, as it is called in the recordings."""
BETWEEN = re.compile(r"[/_\s-]+")
BEGINS = words("start starts started begin begins began beginning onset on")
ENDS = words("end ends ended stop stops stopped finish finished offset off")
FILLING = words("of the phase block part section task trials experiment") | {""}


def phases_in(names: Iterable[str]) -> EventNames:
    """Find out whether events are of two phases.

    Parameters
    ----------
    names : iterable of str
        Names of all events.

    Returns
    -------
    dict of str to dict of str to list of str
        The phase that trains first; empty unless one word trains, one is decoded, and both have two events
        in common.
    """
    found: EventNames = defaultdict(lambda: defaultdict(list))
    for name in sorted(names):
        parts = [part for part in BETWEEN.split(name) if part]
        words = [part for part in parts if part.casefold() in TRAINING | DECODED]
        rest = "/".join(part for part in parts if part not in words)
        if len(words) == 1 and rest:
            found[as_name(words[0].casefold())][rest].append(name)
    trains = [phase for phase in found if phase in TRAINING]
    decoded = [phase for phase in found if phase in DECODED]
    if len(trains) != 1 or len(decoded) != 1:
        return {}
    train, decode = found[trains[0]], found[decoded[0]]
    return {trains[0]: train, decoded[0]: decode} if len(train.keys() & decode.keys()) > 1 else {}


def sections_in(recorded: Sequence[Recorded]) -> dict[str, dict[str, str]]:
    """Find out whether events begin two phases in each recording.

    Parameters
    ----------
    recorded : sequence of Recorded
        What is in all recordings.

    Returns
    -------
    dict of str to dict of str to str
        The event at the ``start`` of each phase, and perhaps that at its ``stop``; the one that trains first.
        Empty unless each recording has once one event that begins a phase that trains, and one that is
        decoded.
    """
    once = set.intersection(
        *({name for name, count in each.events.items() if count == 1} for each in recorded)
    )
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in sorted(once):
        parts = [part.casefold() for part in BETWEEN.split(name)]
        phases = [part for part in parts if part in TRAINING | DECODED]
        edges = [edge for edge, said in (("start", BEGINS), ("stop", ENDS)) if not said.isdisjoint(parts)]
        if len(phases) == len(edges) == 1 and not {*parts} - {*phases} - BEGINS - ENDS - FILLING:
            found[phases[0]][edges[0]].append(name)
    sure = {
        phase: {edge: names[0] for edge, names in edges.items()}
        for phase, edges in found.items()
        if "start" in edges and all(len(names) == 1 for names in edges.values())
    }
    trains, decoded = ([phase for phase in sure if phase in some] for some in (TRAINING, DECODED))
    if len(trains) != 1 or len(decoded) != 1:
        return {}
    return {as_name(phase): sure[phase] for phase in (*trains, *decoded)}


def by_phase(recorded: list[Recorded], names: EventNames) -> dict[str, list[Recorded]]:
    """Recordings of one participant, as if each phase had its own.

    Parameters
    ----------
    recorded : list of Recorded
        What is in them.
    names : dict
        What `phases_in` gave.

    Returns
    -------
    dict of str to list of Recorded
        Of each phase that has events, with its events, without the word of the phase.
    """
    found = {}
    for phase, events in names.items():
        counts = [
            {rest: sum(each.events.get(name, 0) for name in called) for rest, called in events.items()}
            for each in recorded
        ]
        own = [
            replace(each, events={rest: number for rest, number in count.items() if number})
            for each, count in zip(recorded, counts, strict=True)
        ]
        if any(each.events for each in own):
            found[phase] = own
    return found
