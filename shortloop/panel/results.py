"""Fits of all groups as tables: one row per coefficient, and one row per fit."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.data import group_values
from shortloop.panel.statistics import (
    ALPHA,
    BOOTSTRAP,
    COEFFICIENTS,
    CONSTANT,
    FITS,
    LEVEL,
    MARGINS,
    PATHS,
    SCORES,
    STATUSES,
    TESTS,
    Status,
    Terms,
    merge_terms,
)

OURS = {  # columns of our tables, and of the numbers beside figures
    *("term", *COEFFICIENTS, "pvalues_corrected", *FITS, "status", "path", "said"),
    *("coefficient", "estimate", "low", "high"),
}
CORRECTIONS = ("none", "holm", "fdr_bh")  # of p values
OF_SCORES = {"scoring", "mean", "std", "rows"}  # columns of the table of scores


@dataclass(frozen=True, repr=False)
class Results:
    """Results of one specification and outcome in all groups."""

    by: tuple[str, ...]  # columns that make groups
    keys: Sequence[tuple[str, ...]]  # their values for each group
    names: tuple[str, ...]  # of the coefficients
    arrays: Mapping[str, FloatArray | IntArray]  # by the names of `Statistics`, and "status" and "path"
    said: Sequence[str]  # messages about each group
    terms: tuple[int, ...] = ()  # of the formula, of each coefficient
    hypotheses: tuple[str, ...] = ()  # that were tested
    scored: tuple[str, ...] = ()  # cross-validated scores, of models that have some
    models: Mapping[Any, Any] = field(default_factory=dict)  # that are kept, by the values of their group
    level: float = LEVEL  # of confidence intervals
    predictor: Callable[[Any, float | None], pd.DataFrame] | None = None  # of fits in memory
    kinds: tuple[str, ...] = ()  # of values that make groups, of `kind_of`

    def __repr__(self) -> str:
        fitted = int(self._fitted.sum())
        found = f"{fitted:,} of {len(self.keys):,} groups fitted: {', '.join(self.names)}"
        has = {"tests": self.hypotheses, "margins": self._has_margins, "scores": self.scored}
        names = ["coefficients", "fits", *(name for name, some in has.items() if some)]
        return f"<{found}; tables: {', '.join(f'{name}()' for name in names)}>"

    @property
    def _fitted(self) -> np.ndarray:
        return np.asarray(np.asarray(self.arrays["status"]) == Status.FITTED)

    @property
    def _has_margins(self) -> bool:
        return MARGINS.keys() <= self.arrays.keys()

    def coefficients(self, correction: str = "none") -> pd.DataFrame:
        """Make a table with a row for each coefficient of each group."""
        arrays = [*COEFFICIENTS, *(name for name in BOOTSTRAP if name in self.arrays)]
        return self._table("term", self.names, arrays, "", correction)

    def tests(self, correction: str = "none") -> pd.DataFrame:
        """Make a table with a row for each hypothesis of each group."""
        return self._table("test", self.hypotheses, TESTS, "test_", correction)

    def margins(self, correction: str = "none") -> pd.DataFrame:
        """Make a table with a row for the marginal effect of each regressor of each group."""
        found = self._table("term", self.names, MARGINS, "margin_", correction)
        return found[found["term"] != CONSTANT].reset_index(drop=True)

    def tables(self, correction: str = "none") -> dict[str, pd.DataFrame]:
        """Make all tables, by name."""
        found = {"coefficients": self.coefficients(correction), "fits": self.fits()}
        found |= {"tests": self.tests(correction)} if self.hypotheses else {}
        found |= {"margins": self.margins(correction)} if self._has_margins else {}
        return found | ({"scores": self.scores()} if self.scored else {})

    def _table(
        self, of: str, rows: Sequence[str], arrays: Iterable[str], prefix: str, correction: str
    ) -> pd.DataFrame:
        """Make a table of arrays, (groups, rows), whose names begin with `prefix`."""
        columns: dict[str, FloatArray] = {
            name.removeprefix(prefix): np.asarray(self.arrays[name], np.float64) for name in arrays
        }
        if correction not in CORRECTIONS:
            expected = f"one of {', '.join(CORRECTIONS)}"
            raise InputError("no such correction", field="correction", found=correction, expected=expected)
        if correction != "none":
            columns["pvalues_corrected"] = correct_pvalues(columns["pvalues"], self._fitted, correction)
        found: dict[str, object] = {
            name: np.repeat(values, len(rows)) for name, values in self._groups(OURS | {of, *columns}).items()
        }
        found[of] = np.tile(np.array(rows, object), len(self.keys))
        return pd.DataFrame(found | {name: values.reshape(-1) for name, values in columns.items()})

    def fits(self) -> pd.DataFrame:
        """Make a table with a row for each group."""
        others = [ALPHA] if ALPHA in self.arrays else []
        found: dict[str, object] = {**self._groups({*OURS, *others})}
        found["status"] = [STATUSES[each] for each in np.asarray(self.arrays["status"])]
        found["path"] = [PATHS[each] for each in np.asarray(self.arrays["path"])]
        for name in (*FITS, *others):
            found[name] = np.asarray(self.arrays[name])
        found["said"] = list(self.said)
        return pd.DataFrame(found)

    def scores(self) -> pd.DataFrame:
        """Make a table with a row for each score of each group."""
        groups, scores = len(self.keys), len(self.scored)
        found: dict[str, object] = {
            name: np.repeat(values, scores) for name, values in self._groups(OF_SCORES).items()
        }
        found["scoring"] = np.tile(np.array(self.scored, object), groups)
        for column, name in zip(("mean", "std"), SCORES, strict=True):
            found[column] = np.asarray(self.arrays.get(name, ())).reshape(-1)
        return pd.DataFrame({**found, "rows": np.repeat(np.asarray(self.arrays["nobs"]), scores)})

    def _groups(self, ours: Container[str]) -> dict[str, np.ndarray]:
        """Values that make groups, (groups,), by their column in a table with such others."""
        names = group_columns(self.by, ours)
        return {name: group_values(self.keys, self.kinds, i) for i, name in enumerate(names)}

    def predict(self, frame: pd.DataFrame | None = None, interval: float | None = None) -> pd.DataFrame:
        """Predict the rows of the fit, or new ones, with their residuals.

        Parameters
        ----------
        frame : DataFrame, optional
            New rows with the columns of groups and regressors; outcomes are for residuals only. Default: the
            rows of the fit.
        interval : float, optional
            Level of intervals, e.g. 0.95, of ``ols``, ``wls``, ``logit`` and ``glm``. Default: none.

        Returns
        -------
        DataFrame
            A row for each row of the frame, with its index: columns of groups, ``fitted``, ``residual``; with
            `interval` ``mean_se``, ``mean_ci_lower``, ``mean_ci_upper`` and, of ``ols`` and ``wls``,
            ``obs_ci_lower``, ``obs_ci_upper``, as statsmodels' ``get_prediction``; and ``said``: why a row
            has no prediction.

        Raises
        ------
        InputError
            If a column is lacking, has another type than in the fit, or the model has no intervals.
        """
        if self.predictor is None:
            raise InputError("results of a job have no rows", hint="ask for [predict] in the panel file")
        return self.predictor(frame, interval)


def group_columns(by: Sequence[str], ours: Container[str] = OURS) -> tuple[str, ...]:
    """Name the group columns of tables: ``group_`` in front where a name is one of ours."""
    names = list(by)
    for i, name in enumerate(by):
        while names[i] in ours or names[i] in names[:i] or (names[i] != name and names[i] in by):
            names[i] = f"group_{names[i]}"
    return tuple(names)


def merge(parts: Sequence[Results]) -> Results:
    """Merge blocks, at least one of which has groups."""
    parts = [part for part in parts if part.keys] or [*parts[:1]]
    # A category may occur in one block only.
    names, terms = merge_terms([(part.names, part.terms) for part in parts])
    keys = [key for part in parts for key in part.keys]
    order = _order(keys)

    def whole(name: str) -> np.ndarray:
        arrays = [part.arrays[name] for part in parts]
        if name in COEFFICIENTS or name in MARGINS or name in BOOTSTRAP:
            for i, part in enumerate(parts):
                padded = np.full((len(part.keys), len(names)), np.nan)
                padded[:, [names.index(each) for each in part.names]] = arrays[i]
                arrays[i] = padded
        return np.concatenate(arrays)[order]

    arrays = {name: whole(name) for name in parts[0].arrays}
    (names, terms), arrays = without_unused_constant((names, terms), arrays)
    said = [text for part in parts for text in part.said]
    said = with_absent_terms(names, arrays["params"], [said[i] for i in order])
    first = parts[0]
    keys = [keys[i] for i in order]
    more = first.hypotheses, first.scored
    return Results(first.by, keys, names, arrays, said, terms, *more, kinds=first.kinds)


def without_unused_constant(of: Terms, arrays: dict[str, np.ndarray]) -> tuple[Terms, dict[str, np.ndarray]]:
    """Leave out the constant if all groups lack only that."""
    (names, terms), has = of, np.isfinite(arrays["params"])
    if CONSTANT not in names or not has.any() or has[:, (place := names.index(CONSTANT))].any():
        return of, arrays
    kept = [i for i in range(len(names)) if i != place]
    some = {name: arrays[name][:, kept] for name in COEFFICIENTS}
    return (tuple(names[i] for i in kept), tuple(terms[i] for i in kept)), {**arrays, **some}


def check_computed(found: Results, field: str) -> None:
    """Refuse a formula that cannot be computed in any group, and tests of coefficients of none."""
    if not found.keys:
        expected = "a group with as many rows as the first window"
        raise InputError(
            "no group is long enough", field=field.replace("formula", "window"), expected=expected
        )
    if not found.names and (np.asarray(found.arrays["status"]) == Status.FAILED).all():
        raise InputError("the formula cannot be computed in any group", field=field, found=found.said[0])
    if found.names and found.hypotheses:
        from shortloop.panel.inference.hypotheses import check_tests

        check_tests(found.hypotheses, found.names, f"{field.rpartition('formula')[0]}tests")


def with_absent_terms(names: Sequence[str], params: FloatArray, said: Sequence[str]) -> list[str]:
    """Add to the messages of groups which coefficients they lack."""
    # params: (groups, coefficients). NaN of those that a group does not have; all NaN, if there is no fit.
    found, lacks = list(said), np.isnan(params)
    for g in np.flatnonzero(lacks.any(axis=1) & ~lacks.all(axis=1)):
        others = f"in this group there are no {', '.join(names[int(j)] for j in np.flatnonzero(lacks[g]))}"
        found[g] = "; ".join(filter(None, (others, found[g])))
    return found


def correct_pvalues(pvalues: FloatArray, fitted: np.ndarray, correction: str) -> FloatArray:
    """Correct the p of each coefficient for all groups that were fitted, (groups,); NaN for others."""
    # pvalues: (groups, coefficients).
    found = np.full(pvalues.shape, np.nan)
    for j in range(pvalues.shape[1]):
        tested = fitted & np.isfinite(pvalues[:, j])
        if tested.any():
            found[tested, j] = _corrected(pvalues[tested, j], correction)
    return found


def _corrected(pvalues: FloatArray, correction: str) -> FloatArray:
    """Correct p values, (tests,), to the bits of statsmodels' ``multipletests``, which is slow to import."""
    # Holm 1979, A simple sequentially rejective multiple test procedure; Benjamini and Hochberg 1995.
    order, number = np.argsort(pvalues), len(pvalues)
    if correction == "holm":
        adjusted = np.maximum.accumulate(pvalues[order] * np.arange(number, 0, -1))
    else:
        adjusted = pvalues[order] / (np.arange(1, number + 1) / number)
        adjusted = np.minimum.accumulate(adjusted[::-1])[::-1]
    found = np.empty(number)
    found[order] = np.minimum(adjusted, 1.0)
    return found


def _order(keys: Sequence[tuple[str, ...]]) -> list[int]:
    """Sort groups by column; a column of numbers by size."""
    columns: list[Sequence[float | str]] = []
    for texts in zip(*keys, strict=True):
        try:
            columns.append([*map(float, texts)])
        except ValueError:
            columns.append(texts)
    return sorted(range(len(keys)), key=lambda g: tuple(column[g] for column in columns))
