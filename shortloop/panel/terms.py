"""Coefficients of groups that have different ones, in one order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

__all__ = ["Named", "joined"]

Named = tuple[tuple[str, ...], tuple[int, ...]]  # coefficients, and the term of the formula of each


def joined(parts: Iterable[Named]) -> Named:
    """Put names of coefficients together."""
    different = sorted(set(parts))
    terms = {name: term for names, of in different for name, term in zip(names, of, strict=True)}
    after: TopologicalSorter[str] = TopologicalSorter(dict.fromkeys(terms, ()))
    for names, _ in different:
        for first, second in pairwise(names):
            after.add(second, first)
    try:
        after.prepare()
    except CycleError:  # formulas that order what they make by what rows hold
        return tuple(terms), tuple(terms.values())
    ready: list[tuple[int, str, str]] = []
    order: list[str] = []
    while after.is_active():
        for name in after.get_ready():
            heapq.heappush(ready, (terms[name], name.replace("]", "\0"), name))  # "a" is before "a b"
        order.append(heapq.heappop(ready)[-1])
        after.done(order[-1])
    return tuple(order), tuple(terms[name] for name in order)
