"""Outcome and regressors as columns of numbers: the input of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray

Columns = FloatArray | Sequence[FloatArray]
"""Regressors: an array of shape (coefficients, rows), or arrays each of shape (rows,)."""
Categories = tuple[IntArray, int]
Sides = tuple[tuple[str, ...], tuple[int, ...], Columns, Sequence[FloatArray]]
"""Names and terms of regressors, these, and outcomes."""


class NotByGroupError(Exception):
    """An expression has values that do not fit together: categories, or another number of columns."""


@dataclass(frozen=True)
class Design:
    """Outcome and regressors of some rows."""

    names: tuple[str, ...]  # of the regressors, as in formulaic
    regressors: Columns
    outcome: FloatArray  # (rows,); if outcomes are counted, the share of successes
    roles: Mapping[str, Any] = field(default_factory=dict)
    """Further columns of the model, each (rows,); of counted outcomes "successes" and "failures"."""
    terms: tuple[int, ...] = ()  # the term of the formula of each regressor

    @property
    def columns(self) -> FloatArray:
        """Regressors in one array, (coefficients, rows); of many rows, a copy."""
        return np.asarray(self.regressors)

    def taken(self, rows: slice | IntArray) -> Design:
        roles = {name: values[rows] for name, values in self.roles.items()}
        regressors = np.array([column[rows] for column in self.regressors])
        return Design(self.names, regressors, self.outcome[rows], roles, self.terms)

    def missing(self) -> np.ndarray:
        found = np.zeros(len(self.outcome), bool)
        for column in (self.outcome, *self.regressors):
            found |= np.isnan(column)
        for values in self.roles.values():
            found |= values < 0 if values.dtype.kind == "i" else np.isnan(values)
        return found

    def trials(self) -> FloatArray | None:
        """Sum successes and failures, shape (rows,); None if outcomes are not counted."""
        return self.roles["successes"] + self.roles["failures"] if "successes" in self.roles else None


def in_time(design: Design, starts: IntArray) -> tuple[Design, IntArray, IntArray]:
    """Sort rows of groups by their role "time"; also find groups that have one twice."""
    first, last = int(starts[0]), int(starts[-1])
    begins, time = starts - first, np.asarray(design.roles["time"][first:last])
    groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    order = np.lexsort((time, groups))
    again = (np.diff(time[order]) == 0) & (np.diff(groups) == 0)
    return design.taken(first + order), begins, np.unique(groups[1:][again])


@dataclass(frozen=True)
class Evaluated:
    """A design, and what the regressors of a row depend on."""

    design: Design
    categories: tuple[Categories, ...] | None = ()
    """Of every factor coded by categories, the code of each row, -1: none, and their number; a row depends on
    itself, on the set of these, and on rows of its group. None: what it depends on is not known."""
    has_categories: bool = False  # some factor is coded by categories, even if not known by which
    makes_categories: bool = False  # the rows together decide categories, as in ``C(pd.cut(x, 3))``
    failed: tuple[int, ...] | None = None  # groups that some expression fails for; None: all look at a row
    rows: IntArray | None = None  # which rows of a group alone are complete, in the order of the design
    specs: tuple[Any, ...] = ()  # of formulaic, of both sides: categories, and states of transforms

    def taken(self, rows: IntArray) -> Evaluated:
        categories = tuple((codes[rows], count) for codes, count in self.categories or ())
        return replace(self, design=self.design.taken(rows), categories=categories)


def design_from(sides: Sides, roles: dict[str, FloatArray | IntArray], where: str) -> Design:
    """Make a design of one outcome, or of two that count successes and failures."""
    names, terms, regressors, outcomes = sides
    if len({*names}) < len(names):  # e.g. of a column that is called Intercept
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InputError("several regressors have the same name", field=where, found=", ".join(twice))
    if len(outcomes) == 1:
        return Design(names, regressors, outcomes[0], roles, terms)
    successes, failures = outcomes
    with np.errstate(all="ignore"):
        share = successes / (successes + failures)  # NaN without trials, of which nothing can be said
    share[np.isinf(share)] = -1.0  # as 1 and -1: none that the family can have
    share[np.isinf(outcomes).any(axis=0)] = np.inf
    return Design(names, regressors, share, {**roles, "successes": successes, "failures": failures}, terms)


def groups_by_categories(
    categories: Sequence[Categories], starts: IntArray
) -> Iterator[tuple[IntArray, bool]]:
    """Yield groups with the same categories, and whether these are all; empty groups are with others."""
    sizes = np.diff(starts)
    if not categories:
        yield np.arange(len(sizes)), True
        return
    group, tables = np.repeat(np.arange(len(sizes)), sizes), [np.ones((len(sizes), 0), bool)]
    for codes, count in categories:
        table = np.zeros((len(sizes), count + 1), bool)
        table[group, codes] = True  # -1, none, is the last
        tables.append(table[:, :-1])
    has = np.concatenate(tables, axis=1)
    has[sizes == 0] = has[sizes.argmax()]
    if has.all():
        yield np.arange(len(sizes)), True
        return
    _, kind = np.unique(np.packbits(has, axis=1), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    order = np.argsort(kind, kind="stable")
    for groups in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
        yield groups, bool(has[groups[0]].all())
