"""Fits of all groups as tables: one row per coefficient, and one row per fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.statistics import COEFFICIENTS, FITS, PATHS, STATUSES, Status, merge_terms

if TYPE_CHECKING:
    import pandas as pd


OURS = {
    *("term", *COEFFICIENTS, "pvalues_corrected", *FITS, "status", "path", "said"),
    *("coefficient", "estimate", "low", "high"),
}
"""Columns of our tables, and of the numbers beside figures."""


@dataclass(frozen=True, repr=False)
class Results:
    """Results of one specification and outcome in all groups.

    by, keys: columns that make groups, and their values for each group.
    names, terms: of the coefficients, and the term of the formula of each.
    arrays: by the names of `Statistics`, and "status" and "path".
    said: messages about each group.
    """

    by: tuple[str, ...]
    keys: Sequence[tuple[str, ...]]
    names: tuple[str, ...]
    arrays: Mapping[str, FloatArray | IntArray]
    said: Sequence[str]
    terms: tuple[int, ...] = ()

    def __repr__(self) -> str:
        fitted = int(np.count_nonzero(np.asarray(self.arrays["status"]) == Status.FITTED))
        return (
            f"<{fitted:,} of {len(self.keys):,} groups fitted: {', '.join(self.names)}; "
            "tables: coefficients(), fits()>"
        )

    def coefficients(self, correction: str = "none") -> pd.DataFrame:
        """Make a table with a row for each coefficient of each group."""
        import pandas as pd

        groups, terms = len(self.keys), len(self.names)
        found: dict[str, object] = {
            name: np.repeat(np.array([key[i] for key in self.keys], object), terms)
            for i, name in enumerate(group_columns(self.by))
        }
        found["term"] = np.tile(np.array(self.names, object), groups)
        for name in COEFFICIENTS:
            found[name] = np.asarray(self.arrays[name]).reshape(-1)
        if correction != "none":
            fitted = np.asarray(self.arrays["status"]) == Status.FITTED
            pvalues = np.asarray(self.arrays["pvalues"], np.float64)
            found["pvalues_corrected"] = correct_pvalues(pvalues, fitted, correction).reshape(-1)
        return pd.DataFrame(found)

    def fits(self) -> pd.DataFrame:
        """Make a table with a row for each group."""
        import pandas as pd

        names = group_columns(self.by)
        found: dict[str, object] = {name: [key[i] for key in self.keys] for i, name in enumerate(names)}
        found["status"] = [STATUSES[each] for each in np.asarray(self.arrays["status"])]
        found["path"] = [PATHS[each] for each in np.asarray(self.arrays["path"])]
        for name in FITS:
            found[name] = np.asarray(self.arrays[name])
        found["said"] = list(self.said)
        return pd.DataFrame(found)


def group_columns(by: Sequence[str]) -> tuple[str, ...]:
    """Name the group columns of tables: ``group_`` in front where a name is one of ours."""
    names = list(by)
    for i, name in enumerate(by):
        while names[i] in OURS or names[i] in names[:i] or (names[i] != name and names[i] in by):
            names[i] = f"group_{names[i]}"
    return tuple(names)


def merge(parts: Sequence[Results]) -> Results:
    """Merge blocks."""
    parts = [part for part in parts if part.keys]
    # A category may occur in one block only.
    names, terms = merge_terms([(part.names, part.terms) for part in parts])
    column = {name: place for place, name in enumerate(names)}
    keys = [key for part in parts for key in part.keys]
    order = _order(keys)
    arrays = {}
    for name in (*COEFFICIENTS, *FITS, "status", "path"):
        if name in COEFFICIENTS:
            whole = np.full((len(keys), len(names)), np.nan)
            first = 0
            for part in parts:
                into = whole[first : first + len(part.keys)]
                into[:, [column[each] for each in part.names]] = part.arrays[name]
                first += len(part.keys)
        else:
            whole = np.concatenate([part.arrays[name] for part in parts] or [np.zeros(0, np.int8)])
        arrays[name] = whole[order]
    said = [text for part in parts for text in part.said]
    by = parts[0].by if parts else ()
    said = with_absent_terms(names, arrays["params"], [said[i] for i in order])
    return Results(by, [keys[i] for i in order], names, arrays, said, terms)


def check_computed(found: Results, field: str) -> None:
    """Refuse a formula that cannot be computed in any group."""
    if not found.names and (np.asarray(found.arrays["status"]) == Status.FAILED).all():
        raise InputError("the formula cannot be computed in any group", field=field, found=found.said[0])


def with_absent_terms(names: Sequence[str], params: FloatArray, said: Sequence[str]) -> list[str]:
    """Add to the messages of groups which coefficients they lack.

    params: (groups, coefficients). NaN of those that a group does not have; all NaN, if there is no fit.
    """
    found, lacks = list(said), np.isnan(params)
    for g in np.flatnonzero(lacks.any(axis=1) & ~lacks.all(axis=1)):
        others = f"in this group there are no {', '.join(names[int(j)] for j in np.flatnonzero(lacks[g]))}"
        found[g] = "; ".join(filter(None, (others, found[g])))
    return found


def correct_pvalues(pvalues: FloatArray, fitted: np.ndarray, correction: str) -> FloatArray:
    """Correct the p of each coefficient for all groups that were fitted, (groups,); NaN for others.

    pvalues: (groups, coefficients).
    """
    from statsmodels.stats.multitest import multipletests

    found = np.full(pvalues.shape, np.nan)
    for j in range(pvalues.shape[1]):
        tested = fitted & np.isfinite(pvalues[:, j])
        if tested.any():
            found[tested, j] = multipletests(pvalues[tested, j], method=correction)[1]
    return found


def _order(keys: Sequence[tuple[str, ...]]) -> list[int]:
    """Sort groups by column; a column of numbers by size."""

    def sorter(column: int) -> dict[str, float | str]:
        texts = {key[column] for key in keys}
        try:
            return {text: float(text) for text in texts}
        except ValueError:
            return {text: text for text in texts}

    places = [sorter(i) for i in range(len(keys[0]))] if keys else []
    return sorted(
        range(len(keys)), key=lambda g: tuple(place[key] for place, key in zip(places, keys[g], strict=True))
    )
