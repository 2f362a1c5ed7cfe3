"""Fits of one model in every group: compiled code where it vouches for its numbers, else statsmodels.

Every group is fitted as if there were no other. Groups with the same categories are evaluated together.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.seeds import seed_for
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.data import Panel
from shortloop.panel.fitting.statsmodels_fit import TINY, fit_group
from shortloop.panel.fitting.windows import KINDS, parts_of_windows, rows_of_windows, windows_of, with_windows
from shortloop.panel.formulas.design import Design, Evaluated, groups_by_categories
from shortloop.panel.formulas.equation import CategoriesError, Equation
from shortloop.panel.formulas.roles import role_values
from shortloop.panel.models.model import ModelSettings
from shortloop.panel.statistics import (
    ALPHA,
    BOOTSTRAP,
    COEFFICIENTS,
    FITS,
    LEVEL,
    MARGINS,
    PATHS,
    SCORES,
    Reason,
    Statistics,
    Status,
    empty_statistics,
    merge_terms,
)

Tell = Callable[[int, int], object]


@dataclass(frozen=True)
class SharedDesign:
    """Groups with the same regressors."""

    groups: IntArray  # their numbers, ascending
    starts: IntArray  # first row of each in the design, and the end of the last; of windows, without that
    design: Design  # of their complete rows
    ends: IntArray | None = None  # of windows, which overlap

    def rows(self, place: int) -> slice:
        ends = self.starts[1:] if self.ends is None else self.ends
        return slice(int(self.starts[place]), int(ends[place]))

    def parts(self, first: int, last: int) -> Iterator[tuple[IntArray, IntArray, Design]]:
        """Yield groups from `first` to `last`, with their starts and rows; windows with copies of few."""
        begin, end = np.searchsorted(self.groups, [first, last])
        if self.ends is None:
            yield self.groups[begin:end], self.starts[begin : end + 1], self.design
            return
        begins, ends, groups = (each[begin:end] for each in (self.starts, self.ends, self.groups))
        for part in parts_of_windows(begins, ends):
            rows, starts = rows_of_windows(begins[part], ends[part])
            yield groups[part], starts, self.design.taken(rows)


@dataclass(frozen=True)
class Fits:
    """One model in many groups."""

    names: tuple[str, ...]
    arrays: Statistics  # and those of `CODES`, int8, (groups,)
    said: dict[int, list[str]]  # of some groups: why statsmodels fitted them, and its warnings
    models: dict[int, Any] = field(default_factory=dict)  # of groups, if the model keeps them


class Fitter:
    """Fits one model to the groups of a panel."""

    def __init__(self, model: ModelSettings, equation: Equation, panel: Panel, level: float = LEVEL) -> None:
        if equation.is_counted and not model.takes_counts():
            problem = "two outcomes in one formula"
            expected = "one outcome; successes + failures are for model 'glm' with family 'binomial'"
            hint = "name several outcomes in `outcomes`"
            raise InputError(problem, field=equation.where, found=equation.text, expected=expected, hint=hint)
        model.check_at(equation.where.rpartition("formula")[0])
        self._model, self._equation, self._level = model, equation, level
        if equation.effects and not model.takes_effects():
            expected = "absorbed effects for model 'ols', without HC2, HC3 and bootstrap"
            problem = "the model has no absorbed effects"
            raise InputError(problem, field=equation.where, found=equation.text, expected=expected)
        self._margins, self._draws = getattr(model, "margins", None), int(getattr(model, "bootstrap", 0))
        self._tests = bool(model.tests or self._margins or self._draws)
        self.by, self.keys, self.kinds = panel.by, list(panel.keys), panel.kinds  # of results
        self._starts: IntArray = np.array(panel.starts, np.int64)  # those of a file may not be written to
        self._columns = equation.needed(panel.columns, model.roles().values())
        self._problems: dict[int, CategoriesError] = {}
        self._alone: set[int] = set()  # groups whose rows are not in the shared designs
        self._shared: list[SharedDesign] = []  # empty if regressors of a row depend on other rows
        self.names: tuple[str, ...] = ()
        self.terms: tuple[int, ...] = ()
        self._roles = dict(model.roles())
        self._by_row: np.ndarray | None = None  # rows without a value, if these alone decide a design
        self._refused: dict[int, tuple[Status, list[str]]] = {}  # windows that are not fitted
        self.starts: IntArray = self._starts  # of results, as if rows of windows were one after the other
        if model.window is None:
            self._lacks_values = self._find_designs()
        else:
            self._find_windows()
        if self._shared:
            parts = ((some.design.names, some.design.terms) for some in self._shared)
            self.names, self.terms = merge_terms(parts)

    def design_of(self, group: int) -> Design:
        """Return outcome and regressors of a group, of complete rows."""
        if group in self._problems:
            raise self._problems[group]
        if group not in self._places:
            return self._evaluate_group(group)
        some, place = self._places[group]
        return some.design.taken(some.rows(place))

    @cached_property
    def _places(self) -> dict[int, tuple[SharedDesign, int]]:
        places = ((g, some, i) for some in self._shared for i, g in enumerate(some.groups.tolist()))
        return {g: (some, i) for g, some, i in places if g not in self._alone}

    def fit(self, first: int = 0, last: int | None = None, tell: Tell = lambda done, of: None) -> Fits:
        """Fit groups from `first` to `last`; tell how many are done of those that compiled code has left."""
        last = len(self.keys) if last is None else last
        groups = last - first
        found = empty_statistics(groups, len(self.names))
        if self._tests:
            found["covariance"] = np.full((groups, len(self.names), len(self.names)), np.nan)
            found["freedom"] = np.full(groups, np.nan)
        scores = self._model.scored()
        found |= {name: np.full((groups, len(scores)), np.nan) for name in SCORES if scores}
        found |= {ALPHA: np.full(groups, np.nan)} if self._model.chooses() else {}
        left, why = np.ones(groups, bool), [""] * groups
        every = (part for some in self._shared for part in some.parts(first, last))
        for numbers, starts, design in every:
            places = numbers - first
            with _no_collections():
                fits = self._model.fit_groups(design, starts, self._level) if len(places) else None
            if fits is not None:
                names = np.array([self.names.index(name) for name in design.names])
                axes = dict.fromkeys(COEFFICIENTS, (names,)) | {"covariance": (names, names)}
                for name in found.keys() & fits.keys():
                    found[name][np.ix_(places, *axes.get(name, ()))] = fits[name]
                left[places] = (fits["reasons"] != Reason.VOUCHED) | _is_constant(design.outcome, starts)
                for i in np.flatnonzero(fits["reasons"] != Reason.VOUCHED):
                    why[places[i]] = [*Reason][fits["reasons"][i]].said
        if self._model.missing == "raise":
            left |= self._lacks_values[first:last]
        left[[g - first for g in self._refused if first <= g < last]] = True
        status = np.where(found["converged"] == 0.0, Status.NOT_CONVERGED, Status.FITTED).astype(np.int8)
        whole = Fits(self.names, found | {"status": status, "path": left.astype(np.int8)}, {})
        lacking = np.isfinite(found["params"]) & np.isnan(found["bse"])
        for g in map(int, np.flatnonzero(lacking.any(axis=1) & ~left)):
            status[g], whole.said[first + g] = Status.FAILED, ["there are too few rows for standard errors"]
        for done, g in enumerate(some := np.flatnonzero(left).tolist()):
            tell(done, len(some))
            self._fit_one(whole, g, first + g, why[g])
        if self._tests:
            whole.arrays["covariance"][status != Status.FITTED] = np.nan
            whole.arrays.update(self._tested(whole.arrays, first))
        return whole

    def _tested(self, arrays: Statistics, first: int) -> Statistics:
        """Test hypotheses, compute marginal effects, and bootstrap, groups from `first` on."""
        from shortloop.panel.inference.hypotheses import test_all

        found = test_all(self._model.tests, self.names, arrays) if self._model.tests else {}
        names = (*(MARGINS if self._margins else ()), *(BOOTSTRAP if self._draws else ()))
        found |= {name: np.full(arrays["params"].shape, np.nan) for name in names}
        for g in map(int, np.flatnonzero(arrays["status"] == Status.FITTED) if names else ()):
            design = self.design_of(first + g)
            place = [self.names.index(name) for name in design.names]
            values: Statistics = {}
            if self._margins:
                from shortloop.panel.inference.margins import margins_of

                params, covariance = arrays["params"][g, place], arrays["covariance"][g][np.ix_(place, place)]
                values = margins_of(self._model, design, params, covariance, self._level)
            if self._draws:
                from shortloop.panel.inference.bootstrap import wild_pvalues

                seed = seed_for(getattr(self._model, "bootstrap_seed", 0), "wild", *self.keys[first + g])
                values["pvalues_bootstrap"] = wild_pvalues(design, self._draws, seed)
            for name, each in values.items():
                found[name][g, place] = each
        return found

    def _fit_one(self, fits: Fits, g: int, group: int, why: str) -> None:
        """Fit what compiled code has left: group `g` of `fits`, which is `group` of all."""
        status, path = fits.arrays["status"], fits.arrays["path"]
        if group in self._refused:
            _write(fits, g, {"nobs": np.nan}, self.names)
            status[g], path[g], fits.said[group] = self._refused[group][0], 0, self._refused[group][1]
            return
        if self._lacks_values[group] and self._model.missing == "raise":
            _write(fits, g, {"nobs": np.nan}, self.names)
            status[g], path[g] = Status.MISSING_VALUES, 0
            return
        try:
            part = self.design_of(group)
        except InputError as error:
            if not isinstance(error, CategoriesError) and group not in self._alone:
                raise
            status[g], fits.said[group] = Status.FAILED, [f"{error.problem}: {error.expected}"]
            return
        if (alone := self._model.of_group(self.keys[group]).fit_alone(part)) is None:
            values, status[g], said = fit_group(self._model, part, self._level, self._tests)
        else:
            values, status[g], said, made = alone
            path[g] = PATHS.index("scikit-learn")
            if made is not None:
                fits.models[group] = made
        _write(fits, g, values, part.names)
        fits.said[group] = [text for text in dict.fromkeys((why, *said)) if text]

    def _find_designs(self) -> np.ndarray:
        """Find groups with the same regressors; return True for groups that lack a value, shape (groups,)."""
        roles = self._roles
        try:
            found = self._equation.evaluate(self._columns, roles, self._starts)
        except CategoriesError:  # not of all groups together; perhaps of some
            for group, design in self._designs_of_groups():
                starts = np.array([0, len(design.outcome)])  # whose effects are absorbed already
                self._shared.append(SharedDesign(np.array([group]), starts, design))
            return self._of_groups(self._equation.missing(self._columns, roles))
        if found.categories is None:
            parts = [(found.design.names, found.design.terms)]
            if found.makes_categories:  # the rows of each group decide its coefficients
                parts = [(design.names, design.terms) for _, design in self._designs_of_groups()]
            self.names, self.terms = merge_terms(parts)
            return self._of_groups(self._equation.missing(self._columns, roles))
        missing = found.design.missing()
        self._by_row = None if found.failed is not None or found.has_categories else missing
        if found.failed is None:
            self._share(found, missing)
            return self._of_groups(missing)
        lacking = self._equation.missing(self._columns, roles)
        lacks = self._of_groups(lacking)
        alone = ~self._of_groups(~missing)
        alone[list(found.failed)] = True
        if (again := alone & lacks & self._of_groups(~lacking)).any():  # as of_group: without these rows
            rows = np.flatnonzero(~(lacking & np.repeat(again, np.diff(self._starts))))
            self._columns = {name: column.taken(rows) for name, column in self._columns.items()}
            self._starts = np.searchsorted(rows, self._starts)
            self._find_designs()
            return lacks
        self._alone = {*np.flatnonzero(alone).tolist()}
        self._share(found, missing | np.repeat(alone, np.diff(self._starts)))
        return lacks

    def _find_windows(self) -> None:
        """Find the designs of windows: parts of those of groups, or of copies of their rows."""
        again = self._sort_in_time() if "time" in self._roles else None
        windows, columns = windows_of(self._starts, self._model), self._columns
        self.keys, self.by, self.kinds = windows.keys(self.keys), with_windows(self.by), self.kinds + KINDS
        rows, self.starts = rows_of_windows(windows.begins, windows.ends)
        if again is not None:
            refused = Status.FAILED, [Reason.SAME_TIME.said]
            self._refused = dict.fromkeys(np.flatnonzero(windows.holds(again, 1)).tolist(), refused)
        self._lacks_values = self._find_designs()
        if self._by_row is not None and len(self._shared) == 1 and not self._equation.effects:
            kept = np.concatenate([[0], np.cumsum(~self._by_row)])
            begins, ends = kept[windows.begins], kept[windows.ends]
            self._shared = [SharedDesign(np.arange(len(begins)), begins, self._shared[0].design, ends)]
            self._lacks_values = windows.holds(self._by_row) > 0
            return
        self._starts, self._columns = self.starts, {name: each.taken(rows) for name, each in columns.items()}
        self._shared, self._alone, self._problems, self.names, self.terms = [], set(), {}, (), ()
        self._lacks_values = self._find_designs()

    def _sort_in_time(self) -> np.ndarray:
        """Sort rows of groups by time; return True for rows at the time of the one before, (rows,)."""
        name, sizes = self._roles.pop("time"), np.diff(self._starts)
        time = np.asarray(role_values("time", name, self._columns[name]))
        groups = np.repeat(np.arange(len(sizes)), sizes)
        rows = np.lexsort((time, groups))
        rows = rows[time[rows] >= 0]
        self._columns = {name: column.taken(rows) for name, column in self._columns.items()}
        self._starts = np.asarray(np.searchsorted(groups[rows], np.arange(len(sizes) + 1)), np.int64)
        same = (np.diff(time[rows]) == 0) & (np.diff(groups[rows]) == 0)
        return np.concatenate([[False], same]) if len(rows) else np.zeros(0, bool)

    def _of_groups(self, rows: np.ndarray) -> np.ndarray:
        """Find groups that have such a row: bool, (rows,) to (groups,)."""
        return np.logical_or.reduceat(rows, self._starts[:-1]) & (np.diff(self._starts) > 0)

    def _share(self, whole: Evaluated, missing: np.ndarray) -> None:
        """Split groups by the categories of their complete rows; `missing`, (rows,), is True for others."""
        starts = self._starts
        if missing.any():
            rows = np.flatnonzero(~missing)
            whole, starts = whole.taken(rows), np.searchsorted(rows, starts)
        for groups, has_all in groups_by_categories(whole.categories or (), starts):
            if has_all and len(groups) == len(starts) - 1:
                self._add_shared(groups, starts, whole.design)
                return
            some, begins = _rows_of(groups, starts)
            if has_all:
                self._add_shared(groups, begins, whole.design.taken(some))
                continue
            every, of_groups = _rows_of(groups, self._starts)
            if whole.failed is None:  # else the rows to drop decide e.g. a mean
                every, of_groups = every[~missing[every]], begins
            drop = missing[every]
            kept = np.flatnonzero(~drop)
            columns = {name: column.taken(every).trimmed(kept) for name, column in self._columns.items()}
            try:
                made = self._equation.evaluate(columns, self._roles, of_groups, drop)
            except CategoriesError as error:
                self._problems |= dict.fromkeys(groups.tolist(), error)
            else:
                self._add_shared(groups, begins, made.design)

    def _add_shared(self, groups: IntArray, starts: IntArray, design: Design) -> None:
        self._shared.append(SharedDesign(groups, starts, self._absorbed(design, starts)))

    def _absorbed(self, design: Design, starts: IntArray) -> Design:
        """Take absorbed effects from a design, if there are any."""
        if not self._equation.effects:
            return design
        from shortloop.panel.kernels.absorb import absorb

        return absorb(design, starts)

    def _designs_of_groups(self) -> Iterator[tuple[int, Design]]:
        """Evaluate each group alone; note those that lack categories."""
        for group in range(len(self._starts) - 1):
            try:
                yield group, self._evaluate_group(group)
            except CategoriesError as error:
                self._problems[group] = error

    def _evaluate_group(self, group: int) -> Design:
        design = self.evaluated_of(group).design
        return self._absorbed(design, np.array([0, len(design.outcome)]))

    def evaluated_of(self, group: int) -> Evaluated:
        """Evaluate a group alone, with effects that are to be absorbed."""
        begin, end = (int(each) for each in self._starts[group : group + 2])
        return self._equation.of_group(self._columns, self._roles, slice(begin, end))


@contextmanager
def _no_collections() -> Iterator[None]:
    """Collect no garbage: the first fit loads numba, 80,000 objects, of which none is any."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _rows_of(groups: IntArray, starts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of some groups, and where each begins among them, and their number."""
    rows = np.concatenate([np.arange(starts[group], starts[group + 1]) for group in groups])
    return rows, np.concatenate([[0], np.cumsum(np.diff(starts)[groups])])


def _is_constant(outcome: FloatArray, starts: IntArray) -> np.ndarray:
    """Find groups of constant outcomes, which compiled code may vouch for."""
    found = np.zeros(len(starts) - 1, bool)
    some = np.flatnonzero(np.diff(starts))
    if len(some):
        begins = starts[some] - starts[0]
        part = outcome[starts[0] : starts[-1]]
        most, least = np.maximum.reduceat(part, begins), np.minimum.reduceat(part, begins)
        with np.errstate(invalid="ignore"):
            found[some] = (most == least) | (most - least <= TINY)
    return found


def _write(fits: Fits, group: int, values: Mapping[str, object], names: tuple[str, ...]) -> None:
    place = [fits.names.index(name) for name in names if name in fits.names]
    taken = [names.index(fits.names[i]) for i in place]
    for name in (*FITS, *({*SCORES, ALPHA} & fits.arrays.keys())):
        fits.arrays[name][group] = values.get(name, np.nan)
    for name in COEFFICIENTS:
        into = fits.arrays[name][group]
        into[:] = np.nan
        found = np.asarray(values.get(name, np.nan))
        if found.ndim == 1 and len(found) >= len(names):  # some models have more, of their own
            into[place] = found[taken]
    if "covariance" in fits.arrays:
        covariance = np.full((len(fits.names), len(fits.names)), np.nan)
        if (known := values.get("covariance")) is not None:
            covariance[np.ix_(place, place)] = np.asarray(known)[np.ix_(taken, taken)]
        fits.arrays["covariance"][group] = covariance
        fits.arrays["freedom"][group] = values.get("freedom", np.nan)
