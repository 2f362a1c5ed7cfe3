"""Failed units of a job: their errors and placeholder rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.stages.needs import KEEP, needs_of
from shortloop.stages.records import Pickled
from shortloop.stages.retries import FAILED_UNITS, Tried, lost_text, missing
from shortloop.stages.same_tables import PANDAS, POLARS, load
from shortloop.stages.stage import Stage, Values
from shortloop.stages.tables import UNIT, library_of

if TYPE_CHECKING:
    import numpy as np

    from shortloop.stages.tables import Table

__all__ = [
    "ERROR",
    "Failures",
    "failed_units",
    "labels_of",
    "objects_with_failed",
    "with_failed",
]

ERROR = "unit_error"
"""Column of tables with the error of a unit."""
NULLABLE = {"b": "boolean", "i": "Int", "u": "UInt"}


class Failures:
    """Units of a job that failed at least once, by their number."""

    def __init__(self, stage: Stage, units: int) -> None:
        self._stage, self._units = stage, units
        self._tried: dict[int, Tried] = {}
        self._lost: dict[int, list[str]] = {}

    def note(self, unit: int, tried: Tried) -> None:
        """Note a unit that failed, each time or at first."""
        self._tried[unit] = tried

    def given_up(self, unit: int, how: str, lost: Exception, again: bool) -> Tried | None:
        """What a unit leaves whose process ended; None if it is to be computed again."""
        needs = needs_of(type(self._stage))
        errors = self._lost.setdefault(unit, [])
        errors.append(lost_text(how, needs))
        if again and len(errors) <= needs.retries:
            return None
        if needs.on_error != KEEP:
            raise lost
        return Tried(None, [errors.pop()])

    @property
    def errors(self) -> dict[int, str]:
        """The last error of each unit that failed each time."""
        failed = {unit: each.errors[-1] for unit, each in self._tried.items() if each.values is None}
        return dict(sorted(failed.items()))

    def check(self) -> None:
        """Raise RuntimeError if all units failed: nothing says then what they would have given."""
        if self._units and len(self.errors) == self._units:
            first = self._tried[min(self._tried)]
            said = first.traceback or first.errors[-1]
            raise RuntimeError(f"all units failed ({self._units}); {self._stage.unit_name(0)}:\n{said}")

    def of_record(self) -> dict[str, Any]:
        """What the record says: of a stage that keeps errors, these, and how often units were computed."""
        labels = labels_of(self._stage, self._units) if self._tried or self._lost else []
        tried = {unit: each.errors for unit, each in self._tried.items()}
        for unit, lost in self._lost.items():
            tried[unit] = [*lost, *tried.get(unit, [])]
        found: dict[str, Any] = {}
        if needs_of(type(self._stage)).on_error == KEEP:
            failed = [[labels[unit], error] for unit, error in self.errors.items()]
            found["errors"] = {"units": self._units, "failed": failed}
        if tried:
            found["attempts"] = [[labels[unit], errors] for unit, errors in sorted(tried.items())]
        return found

    def write(self, known: bytes | None, files: Sequence[str]) -> list[str]:
        """Write what a later job needs to compute failed units alone; the file, if there are any."""
        if not self.errors:
            return []
        tracebacks = [[unit, self._tried[unit].traceback] for unit in self.errors]
        plain = {"known": known.hex() if known else "", "files": [*files], "tracebacks": tracebacks}
        Path(FAILED_UNITS).write_text(json.dumps(plain), encoding="utf-8")
        return [FAILED_UNITS]


def failed_units(errors: Mapping[str, Any], most: int) -> str:
    """Which units failed, of a record's ``errors``."""
    names = [str(unit) for unit, _ in errors["failed"]]
    more = [f"and {len(names) - most} more"] if len(names) > most else []
    return f"{len(names)} of {errors['units']} units failed: {', '.join(names[:most] + more)}".removesuffix(
        ": "
    )


def labels_of(stage: Stage, units: int) -> Sequence[Plain]:
    """Names of units, as a record has them: their numbers, if they have none."""
    names = stage.unit_names()
    return range(units) if names is None else names


def with_failed(
    names: Sequence[Plain],
    arrays: Mapping[str, Values],
    tables: Mapping[str, Table],
    errors: Mapping[int, str],
) -> tuple[dict[str, Values], dict[str, Table]]:
    """What the other units gave, with missing values, or a row with its error, for each unit that failed.

    Whole numbers and truth values become floats in arrays, and types with missing values in tables of pandas,
    whether units failed or not: a stage leaves the same types each time.
    """
    if taken := next((name for name in (*arrays, *tables) if name == ERROR), None):
        raise _named_error(f"{taken} of each unit")
    return (
        {name: _whole(name, each, len(names), errors) for name, each in arrays.items()},
        {name: _with_rows(name, each, names, errors) for name, each in tables.items()},
    )


def objects_with_failed(
    objects: Mapping[str, Pickled], units: int, errors: Mapping[int, str]
) -> dict[str, Pickled]:
    """Objects of the other units, of which nothing belongs to those that failed."""
    found: dict[str, Pickled] = {}
    for name, each in objects.items():
        sizes = iter(each.described["units"])
        spread = [0 if unit in errors else next(sizes) for unit in range(units)]
        found[name] = Pickled(each.data, {**each.described, "units": spread})
    return found


def _whole(name: str, given: Values, units: int, errors: Mapping[int, str]) -> Values:
    import numpy as np

    values = cast("np.ndarray", given.values)
    if values.dtype.kind in NULLABLE:
        floats = values.astype("f8")
        if not np.array_equal(floats.astype(values.dtype), values):
            raise InputError(
                "whole numbers are too large to be kept beside missing values",
                field=name,
                found=f"{values.dtype} up to {abs(values).max()}",
                expected='numbers below 2**53, as on_error = "keep" makes floats of them',
                hint="give texts, or leave out on_error",
            )
        values = floats
    whole = np.full((units, *values.shape[1:]), missing(values), values.dtype)
    whole[[unit for unit in range(units) if unit not in errors]] = values
    return Values(whole, given.axes, given.description, given.unit)


def _with_rows(name: str, table: Table, names: Sequence[Plain], errors: Mapping[int, str]) -> Table:
    if ERROR in table.columns:
        raise _named_error(f"table {name}")
    texts = [each if isinstance(each, str | int | float) else str(each) for each in names]
    failed = [texts[unit] for unit in errors]
    frame: Any = table
    if library_of(table) == POLARS:
        polars = load(POLARS)
        frame = frame.with_columns(polars.lit(None, polars.String).alias(ERROR))
        types = {UNIT: frame.schema[UNIT], ERROR: polars.String}
        rows = polars.DataFrame({UNIT: failed, ERROR: [*errors.values()]}, schema=types)
        frame = polars.concat([frame, rows], how="diagonal")
        return cast("Table", frame[_order(frame[UNIT].to_list(), texts)])
    pandas = load(PANDAS)
    for column in frame.columns[1:]:
        kind = frame[column].dtype
        if getattr(kind, "kind", "") in NULLABLE and hasattr(kind, "itemsize") and kind.isbuiltin == 1:
            bits = "" if kind.kind == "b" else str(8 * kind.itemsize)
            frame[column] = frame[column].astype(f"{NULLABLE[kind.kind]}{bits}")
    frame[ERROR] = pandas.Series([None] * len(frame), dtype="string")
    if not errors:
        return cast("Table", frame)
    rows = frame.iloc[:0].reindex(range(len(errors)))
    for column in frame.columns[1:]:
        if frame[column].dtype == object:
            rows[column] = pandas.Series([None] * len(rows), dtype=object)
    rows[UNIT] = pandas.Series(failed, dtype=frame[UNIT].dtype if len(frame) else None)
    rows[ERROR] = pandas.Series([*errors.values()], dtype="string")
    whole = pandas.concat([frame, rows], ignore_index=True)
    return cast("Table", whole.iloc[_order(whole[UNIT].tolist(), texts)].reset_index(drop=True))


def _order(units: Sequence[object], names: Sequence[object]) -> list[int]:
    """Rows in the order of their units."""
    places = {name: place for place, name in enumerate(names)}
    return sorted(range(len(units)), key=lambda row: places[units[row]])


def _named_error(where: str) -> InputError:
    return InputError(
        'a stage with on_error = "keep" gives a value of its own the name of the errors',
        field=where,
        found=ERROR,
        hint="give it another name",
    )
