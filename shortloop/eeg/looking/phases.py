"""Two phases in the same recordings, told apart by words in the names of events: study/face, test/face."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from shortloop.eeg.looking.recorded import Recorded
from shortloop.eeg.looking.words import DECODED, TRAINING, as_name

__all__ = ["EventNames", "by_phase", "phases_in"]

EventNames = dict[str, dict[str, list[str]]]
"""Of each phase and event without the word of the phase, as it is called in the recordings."""
BETWEEN = re.compile(r"[/_\s-]+")


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
