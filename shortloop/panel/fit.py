"""One model in every group: compiled code where it vouches for its numbers, statsmodels where it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortloop.errors import InputError
from shortloop.panel import status
from shortloop.panel.general import fit_group
from shortloop.panel.kernels.reasons import REASONS, VOUCHED
from shortloop.panel.statistics import COEFFICIENTS, FITS, Statistics

if TYPE_CHECKING:
    from shortloop.panel.data import Column
    from shortloop.panel.design import Design, Equation
    from shortloop.panel.models.base import ModelSettings
    from shortloop.types import IntArray

__all__ = ["Fits", "Fitter"]


@dataclass(frozen=True)
class Fits:
    """One model in many groups.

    Parameters
    ----------
    names : tuple of str
        Of the coefficients.
    statistics : Statistics
        What was found.
    status, path : array of int8, shape (groups,)
        Of `shortloop.panel.status`: what became of the fit, and which code fitted it.
    said : dict of int to list of str
        What there is to say of some groups: why statsmodels fitted them, and its warnings.
    """

    names: tuple[str, ...]
    statistics: Statistics
    status: IntArray
    path: IntArray
    said: dict[int, list[str]]


class Fitter:
    """Fits one model to groups of rows.

    Parameters
    ----------
    model : ModelSettings
        The model.
    equation : Equation
        Its formula, with the outcome.
    columns : mapping of str to Column
        All rows, those of a group one after the other.
    starts : array of int64, shape (groups + 1,)
        First row of each group, and the end of the last.
    level : float, default 0.95
        Of confidence intervals.

    Raises
    ------
    InputError
        If a column is not there, or cannot be computed with, or the model takes no outcome that is counted.
    """

    def __init__(
        self,
        model: ModelSettings,
        equation: Equation,
        columns: Mapping[str, Column],
        starts: IntArray,
        level: float = 0.95,
    ) -> None:
        self._model = model
        self._equation = equation
        self._columns = columns
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
        design, self._depends = equation.design(columns, model.roles())
        missing = design.missing() if self._depends != "rows" else equation.lacking(columns, model.roles())
        self._design, self._whole, self._lacking = _whole_rows(design, missing, self._starts)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients."""
        return self._design.names

    def design_of(self, group: int, batched: bool) -> Design:
        """Outcome and regressors of a group, of the rows that are fitted.

        Parameters
        ----------
        group : int
            Its number.
        batched : bool
            Whether compiled code fitted it, beside others.

        Returns
        -------
        Design
        """
        if batched or self._depends == "row":
            begin, end = (int(each) for each in self._whole[group : group + 2])
            return self._design.taken(slice(begin, end))
        begin, end = (int(each) for each in self._starts[group : group + 2])
        return self._equation.of_group(self._columns, self._model.roles(), slice(begin, end))

    def fit(self, first: int = 0, last: int | None = None) -> Fits:
        """Fit some groups.

        Parameters
        ----------
        first : int, default 0
            Number of the first of them.
        last : int, optional
            Number of the one after the last. Default: all.

        Returns
        -------
        Fits
            The same whatever other groups are fitted with them.
        """
        last = len(self._starts) - 1 if last is None else last
        design, starts, lacking = self._design, self._whole[first : last + 1], self._lacking[first:last]
        groups = last - first
        found = None
        if self._depends != "rows":
            found = self._model.fit_groups(design, starts, self._level)
        if found is None:
            found = Statistics.empty(groups, len(self.names))
            left, why = np.ones(groups, bool), [""] * groups
        else:
            left, why = found.reasons != VOUCHED, [REASONS[int(each)] for each in found.reasons]
        fits = Fits(
            self.names,
            found,
            np.where(found.converged == 0.0, status.NOT_CONVERGED, status.FITTED).astype(np.int8),
            left.astype(np.int8),
            {},
        )
        for g in map(int, np.flatnonzero(left | (lacking & (self._model.missing == "raise")))):
            if lacking[g] and self._model.missing == "raise":
                _write(fits, g, {"nobs": np.nan}, self.names)
                fits.status[g], fits.path[g] = status.MISSING_VALUES, 0
                continue
            part = self.design_of(first + g, batched=False)
            values, fits.status[g], said = fit_group(self._model, part, self._level)
            others = [name for name in self.names if name not in part.names]
            if others:
                said = [f"in this group there are no {', '.join(others)}", *said]
            _write(fits, g, values, part.names)
            fits.said[first + g] = [text for text in (why[g], *said) if text]
        return fits


def _whole_rows(design: Design, missing: np.ndarray, starts: IntArray) -> tuple[Design, IntArray, np.ndarray]:
    """The rows that lack nothing, where each group begins among them, and which groups lacked something."""
    if not missing.any():
        return design, starts, np.zeros(len(starts) - 1, bool)
    before = np.concatenate([[0], np.cumsum(missing)])
    lacking = np.diff(before[starts]) > 0
    return design.taken(np.flatnonzero(~missing)), starts - before[starts], lacking


def _write(fits: Fits, group: int, values: Mapping[str, object], names: tuple[str, ...]) -> None:
    """Put what was found of one group into the arrays of all."""
    place = [fits.names.index(name) for name in names if name in fits.names]
    taken = [names.index(fits.names[i]) for i in place]
    for name in FITS:
        getattr(fits.statistics, name)[group] = values.get(name, np.nan)
    for name in COEFFICIENTS:
        into = getattr(fits.statistics, name)[group]
        into[:] = np.nan
        found = np.asarray(values.get(name, np.nan))
        if found.ndim == 1 and len(found) >= len(names):  # some models have more, of their own
            into[place] = found[taken]
