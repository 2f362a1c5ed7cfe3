"""Fits of one model in every group: compiled code where it vouches for its numbers, else statsmodels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.errors import InputError
from shortloop.panel.equation import CategoriesError
from shortloop.panel.general import fit_group
from shortloop.panel.group_designs import Designs
from shortloop.panel.kernels.reasons import REASONS, VOUCHED
from shortloop.panel.statistics import COEFFICIENTS, FITS, Statistics, Status, empty_statistics

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.column import Column
    from shortloop.panel.equation import Equation
    from shortloop.panel.models.base import ModelSettings


PROBES = 8
"""Rows of a group that are compared first: most outcomes vary in these."""


@dataclass(frozen=True)
class Fits:
    """One model in many groups.

    status, path: int8, (groups,). `Status` of each fit, and the code that fitted it, of `PATHS`.
    said: messages of some groups: why statsmodels fitted them, and its warnings.
    """

    names: tuple[str, ...]
    arrays: Statistics
    status: IntArray
    path: IntArray
    said: dict[int, list[str]]


class Fitter:
    """Fits one model to groups of rows; `starts` are the first row of each group, and the end of the last."""

    def __init__(
        self,
        model: ModelSettings,
        equation: Equation,
        columns: Mapping[str, Column],
        starts: IntArray,
        level: float = 0.95,
    ) -> None:
        self._model = model
        self._starts = np.array(starts, np.int64)  # those of a file may not be written to
        self._level = level
        if equation.is_counted and not model.takes_counts():
            raise InputError(
                "two outcomes in one formula",
                field=equation.where,
                found=equation.text,
                expected="one outcome; successes + failures are for model 'glm' with family 'binomial'",
                hint="name several outcomes in `outcomes`",
            )
        self._designs = Designs(equation, columns, model.roles(), self._starts)
        self.names, self.terms = self._designs.names, self._designs.terms
        self.design_of = self._designs.of_group

    def fit(self, first: int = 0, last: int | None = None) -> Fits:
        """Fit groups from first to last."""
        last = len(self._starts) - 1 if last is None else last
        groups, missing = last - first, self._designs.missing[first:last]
        found = empty_statistics(groups, len(self.names))
        left, why = np.ones(groups, bool), [""] * groups
        for some in self._designs.shared:
            begin, end = np.searchsorted(some.groups, [first, last])
            starts, places = some.starts[begin : end + 1], some.groups[begin:end] - first
            fits = self._model.fit_groups(some.design, starts, self._level) if begin < end else None
            if fits is not None:
                _put(found, places, [self.names.index(name) for name in some.design.names], fits)
                left[places] = (fits["reasons"] != VOUCHED) | _is_constant(some.design.outcome, starts)
                for i in np.flatnonzero(fits["reasons"] != VOUCHED):
                    why[places[i]] = REASONS[int(fits["reasons"][i])]
        return self._fit_left(found, left | (missing & (self._model.missing == "raise")), why, first)

    def _fit_left(self, found: Statistics, left: np.ndarray, why: Sequence[str], first: int) -> Fits:
        """Let statsmodels fit the groups that compiled code has left; `first` is the first of all."""
        fits = Fits(
            self.names,
            found,
            np.where(found["converged"] == 0.0, Status.NOT_CONVERGED, Status.FITTED).astype(np.int8),
            left.astype(np.int8),
            {},
        )
        for g in map(int, np.flatnonzero(left)):
            if self._designs.missing[first + g] and self._model.missing == "raise":
                _write(fits, g, {"nobs": np.nan}, self.names)
                fits.status[g], fits.path[g] = Status.MISSING_VALUES, 0
                continue
            try:
                part = self.design_of(first + g)
            except CategoriesError as error:
                fits.status[g], fits.said[first + g] = Status.FAILED, [f"{error.problem}: {error.expected}"]
                continue
            values, fits.status[g], said = fit_group(self._model, part, self._level)
            _write(fits, g, values, part.names)
            fits.said[first + g] = [text for text in (why[g], *said) if text]
        return fits


def _is_constant(outcome: FloatArray, starts: IntArray) -> np.ndarray:
    """Find groups of constant outcomes, which compiled code may vouch for."""
    sizes = np.diff(starts)
    if not len(outcome):
        return np.zeros(len(sizes), bool)
    places = starts[:-1, None] + (sizes[:, None] - 1).clip(0) * np.arange(PROBES) // (PROBES - 1)
    some = outcome[places.clip(max=len(outcome) - 1)]
    found = (some == some[:, :1]).all(axis=1) & (sizes > 0)
    for g in np.flatnonzero(found):
        found[g] = np.ptp(outcome[starts[g] : starts[g + 1]]) == 0.0
    return np.asarray(found)


def _put(into: Statistics, groups: IntArray, names: Sequence[int], fits: Statistics) -> None:
    """Copy results of some groups, which have some of the coefficients."""
    for name, values in fits.items():
        into[name][np.ix_(groups, np.asarray(names)) if name in COEFFICIENTS else groups] = values


def _write(fits: Fits, group: int, values: Mapping[str, object], names: tuple[str, ...]) -> None:
    """Copy results of one group."""
    place = [fits.names.index(name) for name in names if name in fits.names]
    taken = [names.index(fits.names[i]) for i in place]
    for name in FITS:
        fits.arrays[name][group] = values.get(name, np.nan)
    for name in COEFFICIENTS:
        into = fits.arrays[name][group]
        into[:] = np.nan
        found = np.asarray(values.get(name, np.nan))
        if found.ndim == 1 and len(found) >= len(names):  # some models have more, of their own
            into[place] = found[taken]
