"""One model in every group of a frame, without jobs: for notebooks and scripts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from shortloop.base.errors import InputError
from shortloop.base.terminal import SHOW_AFTER, Waiting
from shortloop.panel.data import check_columns, from_frame, group_names
from shortloop.panel.fitting.fit import Fitter
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.models.model import ModelSettings
from shortloop.panel.results import Results, check_computed, with_absent_terms, without_unused_constant
from shortloop.panel.statistics import LEVEL
from shortloop.settings.base import tag_of

if TYPE_CHECKING:
    import pandas as pd

INTERNAL = ("covariance", "freedom", "reasons")  # arrays of fits that are no results


def fit_frame(frame: pd.DataFrame, by: Sequence[str], *, level: float = LEVEL, **settings: Any) -> Results:
    """Fit a model to every group of a frame.

    Parameters
    ----------
    frame : DataFrame
        A row for each observation, in any order.
    by : sequence of str
        Columns whose values make a group.
    level : float, default 0.95
        Of confidence intervals.
    **settings
        As in a panel file: ``model``, ``formula`` and what else the model has.

    Returns
    -------
    Results
        Groups are in the order of the values that make them.

    Raises
    ------
    InputError
        If a column is not there, or cannot be computed with, or the model does not have such settings.

    Examples
    --------
    >>> found = fit_frame(frame, ["firm"], model="ols", formula="invest ~ value + capital")
    >>> found.coefficients("holm")
    """
    by = [by] if isinstance(by, str) else [*map(str, by)]
    frame = _named(frame)
    check_columns(frame, by)
    if not 0.0 < level < 1.0:
        raise InputError("invalid value", field="level", found=level, expected="between 0 and 1, e.g. 0.95")
    model = _model(settings)
    if len(model.outcomes) > 1:
        expected = "one outcome in each call; a panel file may have several"
        raise InputError("several outcomes", field="outcomes", found=model.outcomes, expected=expected)
    equation = Equation(model.formula, *model.outcomes)
    others = [name for name in frame.columns if name not in by]
    beside = *model.roles().values(), *equation.effects.values()
    needed = {*by, *(read := equation.variables(others)), *beside}
    panel = from_frame(_some(frame, needed), by)
    equation.check_columns([*read, *beside], others)
    if lost := [name for name in (*read, *beside) if name not in panel.columns]:
        notes = [note for note in panel.notes if note.partition(":")[0] in lost]
        raise InputError("unsupported column type", field=equation.where, found="; ".join(notes))
    fitter = Fitter(model, equation, panel, level)
    with Waiting("fit_frame: fitted one by one") as waiting, _saying_that_it_compiles():
        fits = fitter.fit(tell=waiting.tell)
    arrays = {name: each for name, each in fits.arrays.items() if name not in INTERNAL}
    (names, terms), arrays = without_unused_constant((fits.names, fitter.terms), arrays)
    said = ["; ".join(fits.said.get(g, ())) for g in range(len(fitter.keys))]
    said = with_absent_terms(names, arrays["params"], said)
    named = group_names(fitter.keys, fitter.kinds) if fits.models else []
    models = {named[g]: made for g, made in fits.models.items()}

    def predict(new: pd.DataFrame | None, interval: float | None) -> pd.DataFrame:
        from shortloop.panel.predictions import Predictor, of_source

        made = Predictor(model, equation, panel, names, arrays["status"], arrays["params"])
        source = frame if new is None else _named(new)
        rows = panel if new is None else from_frame(_some(source, needed), by)
        table = made.predict(None if new is None else rows, interval)
        return of_source(table, rows).set_axis(source.index)

    more = model.tests, model.scored(), models, level, predict
    found = Results(fitter.by, fitter.keys, names, arrays, said, terms, *more, fitter.kinds)
    check_computed(found, equation.where)
    return found


@contextmanager
def _saying_that_it_compiles() -> Iterator[None]:
    """Say what takes so long when a model is fitted for the first time."""

    def look() -> None:
        compiler = sys.modules.get("numba.core.compiler_lock")
        if compiler is None:
            return
        lock = compiler.global_compiler_lock._lock  # noqa: SLF001  its is_locked() asks about this thread alone
        if not lock.acquire(blocking=False):
            what = "compiling the model, which takes up to half a minute and is kept for the next time"
            print(f"fit_frame: {what}", file=sys.stderr, flush=True)
        else:
            lock.release()

    timer = threading.Timer(SHOW_AFTER, look)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _named(frame: pd.DataFrame) -> pd.DataFrame:
    """Make texts of names of columns, e.g. of numbers."""
    columns: Any = getattr(frame, "columns", ())
    if getattr(columns, "nlevels", 1) > 1:
        hint = "join the levels, e.g. frame.columns = frame.columns.map('_'.join)"
        raise InputError("columns have several levels", found=columns[0], expected="one name each", hint=hint)
    is_other = hasattr(frame, "set_axis") and not all(isinstance(name, str) for name in columns)
    return frame.set_axis([*map(str, columns)], axis=1) if is_other else frame


def _some(frame: pd.DataFrame, names: Container[str]) -> pd.DataFrame:
    return frame[[name for name in frame.columns if name in names]]


def _model(settings: Mapping[str, Any]) -> ModelSettings:
    """Check a model's settings; InputError names the first that is wrong."""
    names = [tag_of(each) for each in ModelSettings.kinds()]
    if settings.get("model") not in names:
        found = repr(settings["model"]) if "model" in settings else None
        raise InputError("no such model", field="model", found=found, expected=f"one of {', '.join(names)}")
    kind = ModelSettings.named(settings["model"])
    try:
        return kind.model_validate(dict(settings))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"])) or None
    if first["type"] == "missing":
        raise InputError("missing setting", field=field, hint=f"add it: fit_frame(…, {field}=…)")
    problem, expected = "invalid value", first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        problem = f"{settings['model']} has no such setting"
        expected = f"one of {', '.join(kind.model_fields)}"
    raise InputError(problem, field=field, found=field and repr(first["input"]), expected=expected)
