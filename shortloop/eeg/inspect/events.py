"""Classes and phases of events, found in their names, numbers and order."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from shortloop.eeg.inspect.names import unique
from shortloop.eeg.inspect.rules import PHASES, as_name, event_means, has_meaning, with_role

T = TypeVar("T")
EventNames = dict[str, dict[str, list[str]]]
"""Names in the recordings of each phase and of each event without the word of the phase."""
MOST = 4  # classes that are chosen without a question
ALIKE = 1.6  # largest ratio of trials of the most and the least frequent class
FEWEST = 4  # trials of a class, on average
FEWEST_IN_TURN = 10  # events whose order means anything
MOST_REPEATED = 0.15  # share of events without their partner, such as a missed response
APART = 1.2  # smallest ratio of the intervals from one event to the other and back
BETWEEN = re.compile(r"[/_\s-]+")


@dataclass(frozen=True)
class Classes:
    """Classes, or candidates if they are not certain: their events and counts, and the other events."""

    events: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    certain: bool = False
    others: dict[str, int] = field(default_factory=dict)

    def likely(self) -> list[str]:
        """List candidates that are rarer than all rarer ones together, unlike a rest between these."""
        rarer = {name: [n for n in self.counts.values() if n < count] for name, count in self.counts.items()}
        found = [n for n, count in self.counts.items() if len(rarer[n]) < 2 or count < sum(rarer[n])]
        return found if len(found) > 1 else [*self.counts]


def find_classes(phases: Sequence[Mapping[str, Mapping[str, int]]]) -> Classes:
    """Tell classes from other events, by their counts in each phase and participant."""
    added = [sum(map(Counter, participants.values()), Counter[str]()) for participants in phases]
    totals = [Counter(dict(sorted(total.items()))) for total in added]
    every = totals[0]
    usual = [name for name in every if _is_usual(name, phases[0])]
    shared = [name for name in usual if all(name in total for total in totals)]
    kept = [name for name in shared if not has_meaning(name, {"no class"})]
    sure = [name for name in kept if not has_meaning(name, {"perhaps no class"})]
    pairs = [sorted((every[name], every[other])) for name in kept if name not in sure for other in sure]
    if len(sure) > 1 and not any(most <= ALIKE * least for least, most in pairs):
        kept = sure
    doubtful = len(kept) < 2 <= len(shared)  # one of them is a response, a fixation or the like
    kept = shared if doubtful else kept
    if len(kept) < 2 and len(totals) > 1:
        kept = _shared_parts(totals)
    if len(kept) < 2:
        kept = usual
    events = dict(zip(_class_names(kept), kept, strict=True))
    found = {name: sum(every[each] for each in matching(event, every)) for name, event in events.items()}
    used = {name for event in kept for name in matching(event, every)}
    certain = not doubtful and _is_certain([*found.values()], len(phases[0]))
    certain = certain and all(any(matching(event, total) for event in kept) for total in totals)
    return Classes(events, found, certain, {name: n for name, n in every.items() if name not in used})


def matching(event: str, names: Iterable[str]) -> list[str]:
    """Return names that are the event, or have it as a part, as MNE's tags."""
    return [name for name in names if event == name or event in name.split("/")]


def _is_usual(name: str, participants: Mapping[str, Mapping[str, int]]) -> bool:
    """True if most participants have the event, and more than a few times."""
    found = [seen[name] for seen in participants.values() if name in seen]
    return 2 * len(found) > len(participants) and sum(found) >= FEWEST * len(found)


def _is_certain(counts: Sequence[int], participants: int) -> bool:
    if len(counts) == 2:
        return min(counts) >= FEWEST * participants / 2
    return 2 < len(counts) <= MOST and max(counts) <= ALIKE * min(counts)


def _shared_parts(totals: Sequence[Mapping[str, int]]) -> list[str]:
    """Return parts of names that all phases have, but not all events of one."""
    every = [Counter(part for name in total for part in dict.fromkeys(name.split("/"))) for total in totals]
    shared = [part for part in every[0] if all(0 < of[part] < len(total) for of, total in zip(every, totals))]
    return [part for part in shared if not has_meaning(part, {"no class"})]


def _class_names(events: list[str]) -> list[str]:
    """Name a class for each event, without the parts that all events have."""
    parts = [event.split("/") for event in events]
    common = set.intersection(*map(set, parts)) if len(parts) > 1 else set()
    names: list[str] = []
    for event, pieces in zip(events, parts, strict=True):
        own = "-".join(filter(None, (as_name(piece) for piece in pieces if piece not in common)))
        names.append(unique(own or as_name(event, "class"), names))
    return names


def phases_in(names: Iterable[str]) -> EventNames:
    """Find two phases that words in the names of events tell apart: study/face, test/face."""
    found: EventNames = defaultdict(lambda: defaultdict(list))
    for name in sorted(names):
        parts = [part for part in BETWEEN.split(name) if part]
        phases = [part for part in parts if event_means(part) & PHASES]
        rest = "/".join(part for part in parts if part not in phases)
        if len(phases) == 1 and rest:
            found[as_name(phases[0].casefold())][rest].append(name)
    pair = _train_and_decode(found)
    return pair if pair and len(set.intersection(*map(set, pair.values()))) > 1 else {}


def sections_in(recorded: Iterable[Mapping[str, int]]) -> dict[str, dict[str, str]]:
    """Find the events at the start, and perhaps the stop, of two phases; counts are of each recording."""
    once = set.intersection(*({name for name, count in of.items() if count == 1} for of in recorded))
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in sorted(once):
        parts = [part.casefold() for part in BETWEEN.split(name) if part]
        phases = [part for part in parts if event_means(part) & PHASES]
        edges = [edge for edge in ("start", "stop") if any(edge in event_means(part) for part in parts)]
        known = all(event_means(part) & {*PHASES, "start", "stop", "filler"} for part in parts)
        if len(phases) == len(edges) == 1 and known:
            found[phases[0]][edges[0]].append(name)
    sure = {
        phase: {edge: names[0] for edge, names in sorted(edges.items())}
        for phase, edges in found.items()
        if "start" in edges and all(len(names) == 1 for names in edges.values())
    }
    return {as_name(phase): edges for phase, edges in _train_and_decode(sure).items()}


def _train_and_decode(phases: Mapping[str, T]) -> dict[str, T]:
    """Return the phase that trains and the decoded one, in this order; none unless there is one of each."""
    trains, decoded = with_role(phases, "training"), with_role(phases, "decoded")
    return {phase: phases[phase] for phase in (*trains, *decoded)} if len(trains) == len(decoded) == 1 else {}


def are_in_turn(onsets: Mapping[str, Iterable[float]]) -> bool:
    """True if events follow each other in each trial, as a cue and its target do."""
    at = sorted((time, name) for name, times in onsets.items() for time in times)
    if len(at) < FEWEST_IN_TURN or len(onsets) < 2:
        return False
    times, names = np.array([time for time, _ in at], float), [name for _, name in at]
    if len(onsets) > 2 and _is_cycle(names):
        return True
    first, *others = onsets
    halves = ([first, *some] for size in range(len(others)) for some in itertools.combinations(others, size))
    return any(_take_turns(times, np.isin(names, half)) for half in halves)


def _is_cycle(names: Sequence[str]) -> bool:
    after: dict[str, Counter[str]] = defaultdict(Counter)
    for one, other in itertools.pairwise(names):
        after[one][other] += 1
    usual = sum(max(counts.values()) for counts in after.values())
    repeated = any(name in counts for name, counts in after.items())
    return usual >= (1 - MOST_REPEATED) * (len(names) - 1) and not repeated


def _take_turns(times: np.ndarray, first: np.ndarray) -> bool:
    """True if events of the first half and of the other alternate, at unequal intervals."""
    changes = first[1:] != first[:-1]
    if (~changes).sum() > MOST_REPEATED * len(changes):
        return False
    steps = np.diff(times)
    there, back = steps[changes & first[:-1]], steps[changes & first[1:]]
    short, long = sorted((float(np.median(there)), float(np.median(back))))
    return long > APART * short
