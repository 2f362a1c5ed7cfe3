"""Designs of each group as if there were no other, of as many of them at once as possible.

Groups are evaluated together if their regressors have the same categories: so it does not matter to a group
which categories the others have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np

from shortloop.base.types import IntArray
from shortloop.panel.column import Column
from shortloop.panel.design import Categories, Design, Evaluated
from shortloop.panel.equation import CategoriesError, Equation
from shortloop.panel.statistics import Terms, merge_terms


@dataclass(frozen=True)
class SharedDesign:
    """Groups with the same regressors.

    groups: int, (these groups,). Their numbers, ascending.
    starts: int64, (these groups + 1,). First row of each in the design, and the end of the last.
    design: of their complete rows.
    """

    groups: IntArray
    starts: IntArray
    design: Design


class Designs:
    """A formula for all groups; `starts` are the first row of each group, and the end of the last."""

    def __init__(
        self,
        equation: Equation,
        columns: Mapping[str, Column],
        roles: Mapping[str, str],
        starts: IntArray,
    ) -> None:
        self._equation = equation
        self._columns = equation.needed(columns, roles.values())
        self._roles = roles
        self._starts = starts
        self._problems: dict[int, CategoriesError] = {}
        self.shared: list[SharedDesign] = []
        """Groups by their regressors; none, if regressors of a row depend on other rows."""
        self.names: tuple[str, ...] = ()
        self.terms: tuple[int, ...] = ()
        missing = self._find()
        if self.shared:
            self.names, self.terms = merge_terms(
                (some.design.names, some.design.terms) for some in self.shared
            )
        self.missing: np.ndarray = np.logical_or.reduceat(missing, starts[:-1]) & (np.diff(starts) > 0)
        """True for groups with rows that lack a value, shape (groups,)."""
        self._shared, self._place = np.full((2, len(starts) - 1), -1)
        for number, some in enumerate(self.shared):
            self._shared[some.groups], self._place[some.groups] = number, np.arange(len(some.groups))

    def of_group(self, group: int) -> Design:
        """Return outcome and regressors of a group, of complete rows."""
        if group in self._problems:
            raise self._problems[group]
        if self._shared[group] < 0:
            return self._of_group(group)
        some, place = self.shared[self._shared[group]], self._place[group]
        taken: Design = some.design.taken(slice(int(some.starts[place]), int(some.starts[place + 1])))
        return taken

    def _find(self) -> np.ndarray:
        """Find groups with the same regressors, names of coefficients, and rows that lack a value."""
        try:
            found = self._equation.evaluate(self._columns, self._roles)
        except CategoriesError:  # not of all groups together; perhaps of some
            for group in range(len(self._starts) - 1):
                self._add(np.array([group]), partial(self._of_group, group))
            return self._equation.missing(self._columns, self._roles)
        if found.depends == "rows":
            self.names, self.terms = self._named(found)
            return self._equation.missing(self._columns, self._roles)
        missing = found.design.missing()
        if not missing.any():
            self._share(found, self._starts)
        else:
            rows = np.flatnonzero(~missing)
            self._share(found.taken(rows), np.searchsorted(rows, self._starts), rows)
        return missing

    def _share(self, whole: Evaluated, starts: IntArray, rows: IntArray | None = None) -> None:
        """Split groups by the categories of their rows, all complete; `rows` are their numbers."""
        for groups, has_all in _by_categories(whole.categories, starts):
            if has_all and len(groups) == len(starts) - 1:
                self.shared.append(SharedDesign(groups, starts, whole.design))
                return
            some, begins = _rows(groups, starts), _begins(groups, starts)
            if has_all:
                self.shared.append(SharedDesign(groups, begins, whole.design.taken(some)))
            else:
                of = some if rows is None else rows[some]
                self._add(groups, partial(self._reevaluate, of), begins)

    def _named(self, whole: Evaluated) -> Terms:
        """Name the coefficients of all groups; of each, if its own rows decide the categories."""
        parts = [(whole.design.names, whole.design.terms)]
        if whole.makes_categories:
            parts = []
            for group in range(len(self._starts) - 1):
                with suppress(CategoriesError):
                    design = self._of_group(group)
                    parts.append((design.names, design.terms))
        return merge_terms(parts)

    def _of_group(self, group: int) -> Design:
        begin, end = (int(each) for each in self._starts[group : group + 2])
        return self._equation.of_group(self._columns, self._roles, slice(begin, end))

    def _add(self, groups: IntArray, evaluate: Callable[[], Design], begins: IntArray | None = None) -> None:
        """Add groups with the same regressors; a single one, if `begins` is not given."""
        try:
            design = evaluate()
        except CategoriesError as error:
            self._problems |= dict.fromkeys(map(int, groups), error)
            return
        begins = np.array([0, len(design.outcome)]) if begins is None else begins
        self.shared.append(SharedDesign(groups, begins, design))

    def _reevaluate(self, rows: IntArray) -> Design:
        some = {name: column.taken(rows).trimmed() for name, column in self._columns.items()}
        return self._equation.evaluate(some, self._roles).design


def _by_categories(categories: Sequence[Categories], starts: IntArray) -> Iterator[tuple[IntArray, bool]]:
    """Yield groups with the same categories, and whether these are all; empty groups are with others."""
    sizes = np.diff(starts)
    if not categories:
        yield np.arange(len(sizes)), True
        return
    group, tables = np.repeat(np.arange(len(sizes)), sizes), []
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


def _rows(groups: IntArray, starts: IntArray) -> IntArray:
    return np.concatenate([np.arange(starts[group], starts[group + 1]) for group in groups])


def _begins(groups: IntArray, starts: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.diff(starts)[groups])])
