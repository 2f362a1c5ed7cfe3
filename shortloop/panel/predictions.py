"""Predictions of rows, of the fit or new, with residuals and intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.panel.data import Panel, group_values
from shortloop.panel.fitting.basis import basis_of
from shortloop.panel.fitting.fit import Fitter
from shortloop.panel.fitting.statsmodels_fit import in_order
from shortloop.panel.formulas.column import Column, NamedColumns
from shortloop.panel.formulas.design import Design
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.models.model import OF_MEANS, OF_PREDICTIONS, WITH_INTERVALS, ModelSettings
from shortloop.panel.results import group_columns
from shortloop.panel.statistics import STATUSES, Status

MEAN = ("mean_se", "mean_ci_lower", "mean_ci_upper")
OBSERVATION = ("obs_ci_lower", "obs_ci_upper")
INTERVALS = {name: MEAN + OBSERVATION * (name in ("ols", "wls")) for name in WITH_INTERVALS}
"""Columns with intervals, as statsmodels calls them, of models that have some."""
NAMES = ("fitted", "residual")
TAKEN = {"row", *NAMES, *MEAN, *OBSERVATION, "said"}  # columns of predictions
Said = list[list[str]]


def columns_of(model: ModelSettings, interval: float | None) -> tuple[str, ...]:
    """Name the numbers that are predicted; refuse those without."""
    kind = str(getattr(model, "model", ""))
    if interval is not None and kind not in INTERVALS:
        expected = f"one of {', '.join(INTERVALS)}"
        hint = "leave out interval for fitted values and residuals"
        raise InputError(
            "no intervals for this model", field="interval", found=kind, expected=expected, hint=hint
        )
    if interval is not None and not 0.0 < interval < 1.0:
        raise InputError(
            "invalid value", field="interval", found=interval, expected="between 0 and 1, e.g. 0.95"
        )
    if others := sorted({*model.roles()} - OF_PREDICTIONS) or ["window"] * (model.window is not None):
        raise InputError("no predictions of a model with this setting", field=others[0], found=kind)
    return NAMES + (() if interval is None else INTERVALS[kind])


class Predictor:
    """Predictions of a fitted model; `params` is (groups, coefficients)."""

    def __init__(
        self,
        model: ModelSettings,
        equation: Equation,
        panel: Panel,
        names: Sequence[str],
        status: np.ndarray,
        params: FloatArray,
    ) -> None:
        if equation.effects:
            problem, expected = "no predictions of absorbed effects", "C(…) in place of | …"
            raise InputError(problem, field=equation.where, found=equation.text, expected=expected)
        self._model, self._equation, self._panel = model, equation, panel
        self._kind = str(getattr(model, "model", ""))
        self._names, self._status, self._params = list(names), status, params
        self._columns = equation.needed(panel.columns, model.roles().values())
        self._group = {key: g for g, key in enumerate(panel.keys)}
        self._fitter: Fitter | None = None

    def predict(self, new: Panel | None, interval: float | None) -> pd.DataFrame:
        """Predict rows of the fit, or new ones, in the panel's order."""
        columns, rows = columns_of(self._model, interval), new or self._panel
        others = None if new is None else self._checked(new)
        found = {name: np.full(int(rows.starts[-1]), np.nan) for name in columns}
        said: list[str] = [""] * int(rows.starts[-1])
        for key, begin, end in zip(rows.keys, rows.starts[:-1].tolist(), rows.starts[1:].tolist()):
            part = slice(begin, end)
            some = others and {name: column.taken(part).trimmed() for name, column in others.items()}
            values, why = self._group_rows(key, some, end - begin, interval)
            for name, each in values.items():
                found[name][part] = each
            said[part] = ["; ".join(dict.fromkeys(texts)) for texts in why]
        return pd.DataFrame({**found, "said": said})

    def _checked(self, new: Panel) -> NamedColumns:
        """Return the columns of new rows; refuse lacking or different ones."""
        if new.by != self._panel.by:
            raise InputError(
                "groups of other columns", found=", ".join(new.by), expected=", ".join(self._panel.by)
            )
        if text := self._equation.stateless(1, self._columns):
            problem = "an expression may look at several rows, and keeps nothing of those of the fit"
            hint = "use center, scale, standardize, poly, bs, cr, cs or cc, or compute the column in the file"
            raise InputError(problem, field=self._equation.where, found=text, hint=hint)
        roles = self._model.roles()
        names = [
            *self._equation.reads(1, self._columns),
            *(roles[each] for each in OF_MEANS if each in roles),
        ]
        beside = [*self._equation.reads(0, self._columns), *roles.values()]
        found = {}
        for name in dict.fromkeys([*names, *beside]):
            own, column = self._columns[name], new.columns.get(name)
            if (
                column is not None
                and (column.levels is None) != (own.levels is None)
                and column.missing().all()
            ):
                column = _nothing_of(own, len(column.values))
            is_alike = (
                column is not None and not column.refused and (column.levels is None) == (own.levels is None)
            )
            if name in names and not is_alike:
                what = "numbers" if own.levels is None else "categories"
                problem = (
                    "new rows lack a column" if column is None else "a column of new rows has another type"
                )
                raise InputError(
                    problem, field=self._equation.where, found=name, expected=f"{what}, as in the fit"
                )
            if column is not None and is_alike:
                found[name] = column
        return found

    def _group_rows(
        self, key: tuple[str, ...], new: NamedColumns | None, rows: int, interval: float | None
    ) -> tuple[Mapping[str, FloatArray], Said]:
        group = self._group.get(key)
        if group is None:
            return {}, [[f"no such group in the fit: {' '.join(key)}"]] * rows
        if self._status[group] != Status.FITTED:
            return {}, [[f"the group is not fitted: {STATUSES[self._status[group]]}"]] * rows
        if self._fitter is None:
            self._fitter = Fitter(self._model, self._equation, self._panel)
        fit, made, said = self._designs(self._fitter, group, new, rows)
        good = np.array([not texts for texts in said], bool)
        values: dict[str, FloatArray] = {}
        if good.any():
            values = self._numbers(group, fit, made.taken(np.flatnonzero(good)), interval)
        whole = {name: np.full(rows, np.nan) for name in values}
        for name, each in values.items():
            whole[name][good] = each
        if values:
            for row in np.flatnonzero(good & ~np.isfinite(whole["fitted"])):
                said[row] = ["the prediction is not finite"]
                for each in whole.values():
                    each[row] = np.nan
        return whole, said

    def _designs(
        self, fitter: Fitter, group: int, new: NamedColumns | None, rows: int
    ) -> tuple[Design, Design, Said]:
        """Return designs of fit and rows, and what each row lacks."""
        design = fitter.design_of(group)
        if new is None and len(design.outcome) == rows:
            return design, design, [[] for _ in range(rows)]
        begin, end = (int(each) for each in self._panel.starts[group : group + 2])
        own = {name: column.taken(slice(begin, end)).trimmed() for name, column in self._columns.items()}
        specs, columns = (), new or own
        if not (self._equation.is_plain(1, own) and self._equation.is_plain(0, own)):
            evaluated = fitter.evaluated_of(group)
            design, specs = evaluated.design, evaluated.specs
        right = self._apply(1, specs, columns, rows)
        x, said = right
        if new is None and len(design.outcome) == sum(not texts for texts in said):
            place = np.full(rows, -1)
            place[[not texts for texts in said]] = np.arange(len(design.outcome))
            return design, design.taken(np.maximum(place, 0)), said
        outcome, lacks = self._outcome(specs, columns, rows), np.full(rows, np.nan)
        roles = {
            role: np.asarray(columns[name].values, np.float64) if name in columns else lacks
            for role, name in self._model.roles().items()
            if role in ("weights", *OF_MEANS)
        }
        return design, Design(design.names, x, outcome, roles, design.terms), said

    def _apply(
        self, side: int, specs: Sequence[Any], columns: NamedColumns, rows: int
    ) -> tuple[FloatArray, Said]:
        """Compute a side; find the rows that cannot be computed."""
        try:
            return self._equation.applied(side, specs, columns)
        except Exception as error:  # Python in a formula may raise any
            if rows == 1:
                lacks = np.full((len(specs[side].column_names) if specs else 1, 1), np.nan)
                return lacks, [[" ".join(f"{type(error).__name__}: {error}".split())]]
        parts = [
            self._apply(side, specs, {name: each.taken(part) for name, each in columns.items()}, size)
            for part, size in ((slice(0, rows // 2), rows // 2), (slice(rows // 2, rows), rows - rows // 2))
        ]
        return np.concatenate([x for x, _ in parts], axis=1), [texts for _, said in parts for texts in said]

    def _outcome(self, specs: Sequence[Any], columns: NamedColumns, rows: int) -> FloatArray:
        """Compute outcomes of new rows; NaN where they lack them."""
        lacks = np.full(rows, np.nan)
        names = self._equation.reads(0, self._columns)
        if not {*names} <= {*columns} or self._equation.stateless(0, self._columns):
            return lacks
        found, _ = self._apply(0, specs, columns, rows)
        with np.errstate(all="ignore"):
            return np.asarray(found[0] if len(found) == 1 else found[0] / (found[0] + found[1]))

    def _numbers(
        self, group: int, fit: Design, made: Design, interval: float | None
    ) -> dict[str, FloatArray]:
        """Compute the numbers of complete rows."""
        if interval is None:
            fitted = self._fitted(group, fit, made)
            return {"fitted": fitted, "residual": made.outcome - fitted}
        fit, _ = in_order(fit)
        rows, exog = np.ascontiguousarray(fit.columns.T), np.ascontiguousarray(made.columns.T)
        if (basis := basis_of(rows, fit.roles.get("weights"))) is not None:
            rows, exog = basis.rows(rows), basis.rows(exog)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the fit has said it
            results = self._model.fit_one(fit.outcome, rows, dict(fit.roles))
            more = {name: made.roles[name] for name in ("weights", *OF_MEANS) if name in made.roles}
            frame = results.get_prediction(exog, **more).summary_frame(alpha=1.0 - interval)
        frame = frame.rename(
            columns={"predicted": "mean", "se": MEAN[0], "ci_lower": MEAN[1], "ci_upper": MEAN[2]}
        )
        found = {name: frame[name].to_numpy(np.float64) for name in INTERVALS[self._kind]}
        fitted = frame["mean"].to_numpy(np.float64)
        return {"fitted": fitted, "residual": made.outcome - fitted, **found}

    def _fitted(self, group: int, fit: Design, made: Design) -> FloatArray:
        model: Any = self._model.of_group(self._panel.keys[group])
        if hasattr(model, "fitted"):  # an estimator of scikit-learn
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return np.asarray(model.predicted(made, model.fitted(fit)))
        if self._kind not in _MEANS:
            rows, exog = np.ascontiguousarray(fit.columns.T), np.ascontiguousarray(made.columns.T)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = np.asarray(
                    model.fit_one(fit.outcome, rows, dict(fit.roles)).predict(exog), np.float64
                )
            if found.shape != made.outcome.shape:
                return np.full(len(made.outcome), np.nan)
            return found
        params = self._params[group, [self._names.index(name) for name in fit.names]]
        predictor = params @ made.columns
        if self._kind == "glm" and (offset := model.offset_of(made.roles)) is not None:
            predictor = predictor + offset
        return np.asarray(_MEANS[self._kind](model, predictor))


_MEANS: dict[str, Callable[[Any, FloatArray], FloatArray]] = {
    **dict.fromkeys(("ols", "wls", "rlm", "quantreg"), lambda model, predictor: predictor),
    "logit": lambda model, predictor: special.expit(predictor),
    "glm": lambda model, predictor: model.family_of_statsmodels().fitted(predictor),
}


def of_source(table: pd.DataFrame, rows: Panel) -> pd.DataFrame:
    """Order predictions as the rows of their source, with their groups."""
    origins, count = rows.origins(), rows.source_rows
    groups = np.repeat(np.arange(len(rows.keys)), np.diff(rows.starts))
    keys = {
        name: group_values(rows.keys, rows.kinds, i)[groups]
        for i, name in enumerate(group_columns(rows.by, TAKEN))
    }
    found = pd.concat([pd.DataFrame(keys), table], axis=1).set_index(origins).reindex(np.arange(count))
    found["said"] = found["said"].fillna("the row belongs to no group")
    return found


def _nothing_of(column: Column, rows: int) -> Column:
    """Make a column of missing values, of the type of another."""
    if column.levels is None:
        return replace(column, values=np.full(rows, np.nan), dtype="float64")
    return replace(column, values=np.full(rows, -1, np.int32), levels=())
