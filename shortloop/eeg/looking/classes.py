"""Which events are the classes, as far as names and numbers of events say it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shortloop.eeg.looking.words import as_name, words

__all__ = ["Classes", "are_kinds", "find_classes"]

# Of events that mark something else than what was shown, in any order and with numbers behind them.
OTHERS = words(
    "bad edge boundary segment comment sync syncstatus response responses resp button buttonpress keypress "
    "fixation fix blink saccade instruction instructions iti isi experiment impedance"
)
# The same, but they may be what was shown as well.
PERHAPS = words(
    "press key answer correct incorrect cross start stop end begin pause break feedback instr baseline trial "
    "epoch"
)
KINDS = words("stimulus stimuli stim trial event target picture image")
WORD = re.compile(r"[^\W\d_]+")
MOST = 4  # classes that are taken for such without being asked
ALIKE = 1.6  # the most frequent class has at most this many times the trials of the rarest
FEWEST = 4  # trials of a class, on average


@dataclass(frozen=True)
class Classes:
    """Events of classes.

    Parameters
    ----------
    events : dict of str to tuple of str
        Names of the events of each class; of candidates, if it is not certain.
    counts : dict of str to int
        How many there are of each, in the phase that trains.
    certain : bool
        Whether these are the classes.
    others : dict of str to int
        Events that are none, and how many there are.
    """

    events: dict[str, tuple[str, ...]]
    counts: dict[str, int]
    certain: bool
    others: dict[str, int]

    def likely(self) -> list[str]:
        """Candidates that are not as frequent as all rarer ones together, as a rest between these is."""
        found = []
        for name, count in self.counts.items():
            rarer = [other for other in self.counts.values() if other < count]
            if len(rarer) < 2 or count < sum(rarer):
                found.append(name)
        return found if len(found) > 1 else [*self.counts]


def find_classes(phases: Sequence[Mapping[str, Mapping[str, int]]]) -> Classes:
    """Tell classes from other events.

    Parameters
    ----------
    phases : sequence of mappings
        Of each phase, the one that trains first, and of each participant in it, how many events
        there are of each name.

    Returns
    -------
    Classes
    """
    totals = [_total(participants) for participants in phases]
    every = totals[0]
    usual = {name for name in every if _is_usual(name, phases[0])}
    shared = [name for name in every if name in usual and all(name in total for total in totals)]
    chosen: dict[str, tuple[str, ...]] = {name: (name,) for name in shared}
    kept = {name: events for name, events in chosen.items() if not _is_of(name, OTHERS)}
    sure = {name: events for name, events in kept.items() if not _is_of(name, PERHAPS)}
    others = [every[name] for name in kept.keys() - sure.keys()]
    if len(sure) >= 2 and not any(_alike(count, [every[name] for name in sure]) for count in others):
        kept = sure
    doubtful = len(kept) < 2 <= len(chosen)  # one of them is a response, a fixation or the like
    if doubtful:
        kept = chosen
    if len(kept) < 2 and len(totals) > 1:
        kept = _by_parts(totals)
    if len(kept) < 2:
        kept = {name: (name,) for name in every if name in usual}
    counts = {name: sum(every[event] for event in _of(events, every)) for name, events in kept.items()}
    used = {event for events in kept.values() for event in _of(events, every)}
    names = _names(list(kept))
    certain = not doubtful and _is_certain(list(counts.values()), len(phases[0]))
    return Classes(
        {names[name]: events for name, events in kept.items()},
        {names[name]: count for name, count in counts.items()},
        certain
        and not doubtful
        and all(any(_of(events, total) for events in kept.values()) for total in totals),
        {name: count for name, count in every.items() if name not in used},
    )


def are_kinds(names: Iterable[str]) -> bool:
    """True if names say what kind of event each is, such as stimulus and response, and fewer than two do not.

    Parameters
    ----------
    names : iterable of str
        Names of events.

    Returns
    -------
    bool
    """
    return sum(not _is_of(name, OTHERS | KINDS) for name in names) < 2


def _total(participants: Mapping[str, Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for seen in participants.values():
        total.update(seen)
    return Counter(dict(sorted(total.items())))


def _is_usual(name: str, participants: Mapping[str, Mapping[str, int]]) -> bool:
    """Whether most participants have it, and more than a few times."""
    found = [seen[name] for seen in participants.values() if name in seen]
    return 2 * len(found) > len(participants) and sum(found) >= FEWEST * len(found)


def _is_of(name: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(word.casefold() for word in WORD.findall(name))


def _alike(count: int, counts: Sequence[int]) -> bool:
    return any(max(count, other) <= ALIKE * min(count, other) for other in counts)


def _is_certain(counts: Sequence[int], participants: int) -> bool:
    if len(counts) == 2:
        return min(counts) >= FEWEST * participants / 2
    return 2 < len(counts) <= MOST and max(counts) <= ALIKE * min(counts)


def _by_parts(totals: Sequence[Mapping[str, int]]) -> dict[str, tuple[str, ...]]:
    """Parts of names, as MNE's tags, that all phases have and not all events of one."""
    every = [Counter(part for name in total for part in {*name.split("/")}) for total in totals]
    shared = [part for part in every[0] if all(part in parts for parts in every)]
    return {
        part: (part,)
        for part in shared
        if not _is_of(part, OTHERS)
        and not any(parts[part] == len(total) for parts, total in zip(every, totals))
    }


def _of(events: Sequence[str], total: Mapping[str, int]) -> list[str]:
    return [name for name in total if any(event == name or event in name.split("/") for event in events)]


def _names(events: list[str]) -> dict[str, str]:
    """A name of a class for each event: without the parts that all have."""
    parts = [event.split("/") for event in events]
    common = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    names: dict[str, str] = {}
    for event, pieces in zip(events, parts, strict=True):
        own = [as_name(piece) for piece in pieces if piece not in common]
        name = "-".join(filter(None, own)) or as_name(event, "class")
        taken = set(names.values())
        number = 2
        unique = name
        while unique in taken:
            unique, number = f"{name}-{number}", number + 1
        names[event] = unique
    return names
