"""Whether events are parts of one trial, such as a cue and its target, as their order says it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

__all__ = ["are_in_turn"]

FEWEST = 10  # events of which the order says anything
MOST_REPEATED = 0.15  # of the events: a response may be missing
APART = 1.2  # between the intervals from one to the other and back


def are_in_turn(onsets: Mapping[str, Iterable[float]]) -> bool:
    """Find out whether events follow each other in each trial.

    Parameters
    ----------
    onsets : mapping of str to iterable of float
        When there are events of each class.

    Returns
    -------
    bool
        True if each event follows the same other one, of three or more; or if some of them and the others
        take turns, and intervals from the first to the second differ from those back. Two classes that take
        turns at even intervals are classes.
    """
    at = sorted((time, name) for name, times in onsets.items() for time in times)
    if len(at) < FEWEST or len(onsets) < 2:
        return False
    times, names = np.array([time for time, _ in at], float), [name for _, name in at]
    if len(onsets) > 2 and _is_cycle(names):
        return True
    return any(_take_turns(times, np.isin(names, some)) for some in _halves([*onsets]))


def _is_cycle(names: Sequence[str]) -> bool:
    after: dict[str, dict[str, int]] = {}
    for one, other in itertools.pairwise(names):
        counts = after.setdefault(one, {})
        counts[other] = counts.get(other, 0) + 1
    usual = sum(max(counts.values()) for counts in after.values())
    return usual >= (1 - MOST_REPEATED) * (len(names) - 1) and not any(n in after[n] for n in after)


def _halves(names: Sequence[str]) -> Iterator[list[str]]:
    """Ways to divide names in two, each once."""
    first, *others = names
    for count in range(len(others)):
        yield from ([first, *some] for some in itertools.combinations(others, count))


def _take_turns(times: np.ndarray, first: np.ndarray) -> bool:
    changes = first[1:] != first[:-1]
    if (~changes).sum() > MOST_REPEATED * len(changes):
        return False
    steps = np.diff(times)
    there, back = steps[changes & first[:-1]], steps[changes & first[1:]]
    short, long = sorted((float(np.median(there)), float(np.median(back))))
    return long > APART * short
