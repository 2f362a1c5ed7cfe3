"""Stages made from functions: one call in all, or one for each unit."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import os
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, cast

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.stages.content import content_of
from shortloop.stages.exact_values import array_or_none
from shortloop.stages.failures import with_failed
from shortloop.stages.lazy_results import KeptFrames
from shortloop.stages.needs import KEEP, needs_of
from shortloop.stages.records import check_array_name, check_file_name
from shortloop.stages.results import Result
from shortloop.stages.rows import stacked, unpack, without_names
from shortloop.stages.stage import CollectingStage, Finished, Outputs, Stage, Values
from shortloop.stages.tables import is_table, reset_row_numbers
from shortloop.stages.task import fields_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UNIT, PARTITION = "unit", "partition"  # parameters that are no fields
IMMUTABLE = (str, bytes, int, float, bool, type(None))

Function: TypeAlias = Callable[..., object]


class FunctionStage(Stage):
    """A stage that calls a function once, whose return value has the results by name."""

    function: ClassVar[Function]
    counts_of: ClassVar[Function | None] = None

    def operation_counts(self) -> Mapping[str, float]:
        """Call the function given as `operation_counts`."""
        function = type(self).counts_of
        return {} if function is None else function(**self._values(_fields(function)))  # type: ignore[return-value]

    def finish(self, out: Outputs) -> Finished:
        function = type(self).function
        return sort_results(function(**self._values(_fields(function))), type(self).__name__)

    def _values(self, fields: Iterable[str]) -> dict[str, object]:
        return {name: getattr(self, name) for name in fields}


def sort_results(given: object, what: str) -> Finished:
    """Sort the return value of a stage function into arrays, tables, figures, files and facts."""
    import numpy as np

    if not isinstance(given, Mapping):
        raise without_names(given, what)
    found: dict[str, dict[str, Any]] = {each.name: {} for each in dataclasses.fields(Finished)}
    drawing = sys.modules.get("matplotlib.figure")  # loaded, if a value is one of its figures
    for name, value in given.items():
        if not isinstance(name, str):
            raise InputError(f"{what} returns a value whose name is not a string", found=repr(name))
        if isinstance(value, Values):
            found["arrays"][name] = value
        elif isinstance(value, str | bytes) and "." in name:
            found["files"][name] = _encoded(value, name, what) if isinstance(value, str) else value
        elif is_table(value):
            found["tables"][name] = value
        elif drawing is not None and isinstance(value, drawing.Figure):
            found["figures"][name] = value
        elif isinstance(value, np.ndarray | np.generic) and array_or_none(value) is not None:
            found["arrays"][name] = Values(cast("np.ndarray", value), "", "")
        else:
            found["facts"][name] = value
    try:
        for name in found["arrays"]:
            check_array_name(name)
        for name in (*found["files"], *found["tables"], *found["figures"]):
            check_file_name(name)
    except ValueError as error:
        raise InputError(f"{what} returns a value with an invalid name", found=str(error)) from None
    return Finished(**found)


def _encoded(text: str, name: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        found = f"half a character: {text[error.start : error.end]!r}"
        hint = "give bytes, e.g. `text.encode(errors='replace')`"
        raise InputError(
            f"{what} returns a text that no file can hold", field=name, found=found, hint=hint
        ) from None


class FoundUnits(NamedTuple):
    """Units of a stage."""

    names: list[Plain]
    costs: list[float]
    reads: Sequence[object]  # data of each


class UnitsStage(CollectingStage, FunctionStage):
    """A stage that calls a function for each unit, with its data; another function lists the units."""

    units_of: ClassVar[Function]
    allow_empty: ClassVar[bool]
    unit_data: ClassVar[str | None]  # parameter that takes what a unit reads
    _found = None  # FoundUnits, when it is open

    @staticmethod
    def give(found: FoundUnits) -> Callable[[Stage], None]:
        """For `open_stage`: have the stage take units that another process has found."""
        return lambda stage: setattr(stage, "_found", found)

    @staticmethod
    def found_by(stage: UnitsStage) -> FoundUnits:
        """Units of an opened stage."""
        return cast("FoundUnits", stage._found)

    @classmethod
    def read_by_all(cls) -> tuple[str, ...]:
        """Fields, among which a partition is if the function has a parameter of that name."""
        return cls.unit_fields

    def open(self) -> None:
        """Find the units, if no other process has found them."""
        found: FoundUnits = self._found or self._find()
        UnitsStage.give(found)(self)
        self._names, _, self._reads = found
        kind = type(self)
        self._shared = self._values(kind.unit_fields)
        kept = KeptFrames()
        for given in self._shared.values():
            for job in given if isinstance(given, list) else [given]:
                if isinstance(job, Result):
                    job.tables.keep(kept)
        options = fields_of(kind).options.keys() & kind.unit_fields
        self._options = [name for name in options if type(self._shared[name]) not in IMMUTABLE]
        self._takes_name = UNIT in inspect.signature(kind.function).parameters
        self._data = kind.unit_data

    def _find(self) -> FoundUnits:
        kind = type(self)
        pairs = _pairs(kind.units_of(**self._values(_fields(kind.units_of))), kind.__name__)
        if not pairs and not kind.allow_empty:
            problem = f"{kind.__name__} has no units: {kind.units_of.__name__} gives none"
            found = f"nothing; relative paths in it start from {os.getcwd()}"
            hint = "look at what it is given; `@stage(units=…, allow_empty=True)` allows for none"
            raise InputError(problem, field=f"units={kind.units_of.__name__}", found=found, hint=hint)
        names = [_name(name) for name, _ in pairs]
        if twice := [name for name, count in Counter(map(repr, names)).items() if count > 1]:
            hint = f"have {kind.units_of.__name__} give each unit a name of its own"
            raise InputError(f"two units of {kind.__name__} have the same name", found=twice[0], hint=hint)

        reads = [reset_row_numbers(data) for _, data in pairs]
        return FoundUnits(names, [*map(_length, reads)], reads)

    def units(self) -> list[float]:
        """Cost of each unit: the length of its data."""
        return UnitsStage.found_by(self).costs

    def unit_key(self, unit: int) -> bytes:
        """A hash of the data of a unit, and of its name if the function takes it."""
        name = self._names[unit]
        return content_of([name if self._takes_name else None, self._reads[unit]], lambda: name)

    def compute(self, unit: int) -> Mapping[str, ArrayLike | bytes]:
        """Call the function with copies, which no other unit sees."""
        given = self._shared | {name: copy.deepcopy(self._shared[name]) for name in self._options}
        if self._takes_name:
            given[UNIT] = self._names[unit]
        reads = self._reads[unit]
        if type(reads) not in IMMUTABLE:
            reads = copy.deepcopy(reads)
        if self._data is not None:
            given[self._data] = reads
        return type(self).function(**given)  # type: ignore[return-value]

    def unit_name(self, unit: int) -> str:
        return f"{self._names[unit]} of {type(self).__name__}"

    def unit_names(self) -> list[Plain]:
        return self._names

    def finish(self, out: Outputs) -> Finished:
        """Combine results of units: arrays, their first axis the units, whose names are a fact."""
        good = [unit for unit in range(len(self._names)) if unit not in out.errors]
        names, rows = [self._names[unit] for unit in good], [unpack(out.rows[unit]) for unit in good]
        found = stacked(names, rows, type(self).__name__)
        if needs_of(type(self)).on_error == KEEP:
            found = with_failed(self._names, *found, out.errors)
        arrays, tables, objects = found
        along = {"units": "units"} if arrays else {}
        return Finished({"units": self._names, **objects}, arrays, tables=tables, coordinates=along)


def stage_of_function(
    function: Function,
    units: Function | None = None,
    allow_empty: bool = False,
    counts: Function | None = None,
    needs: Mapping[str, object] | None = None,
) -> type[FunctionStage]:
    """Make a stage of a function, whose parameters become the fields of the stage."""
    fields = _fields(function, skip_first=units is not None)
    for other in filter(None, (units, counts)):
        for name, each in _fields(other).items():
            if name in fields and _said(fields[name]) != _said(each):
                problem = f"{function.__name__} and {other.__name__} disagree about a parameter"
                raise InputError(problem, field=name, found=_said(each), expected=_said(fields[name]))
            fields.setdefault(name, each)
    for name, each in fields.items():
        if each.annotation is each.empty:
            hint = f"write `{name}: Job` for a job, `File` for a file, else the type of the option"
            raise InputError(f"a parameter of {function.__name__} has no type", field=name, hint=hint)
    own = {name: each for name, each in fields.items() if name != PARTITION}
    body: dict[str, object] = {
        "__module__": function.__module__,
        "__doc__": function.__doc__ or function.__name__,
        "__annotations__": {name: each.annotation for name, each in own.items()},
        "function": staticmethod(function),
        "counts_of": None if counts is None else staticmethod(counts),
        **{name: each.default for name, each in own.items() if each.default is not each.empty},
        **(needs or {}),
    }
    base: type[FunctionStage] = FunctionStage
    if units is not None:
        base = UnitsStage
        body |= {"units_of": staticmethod(units), "allow_empty": allow_empty}
        body["unit_fields"] = tuple(_fields(function, skip_first=True))
        body["unit_data"] = _data_of_unit(function)
    return types.new_class(function.__name__, (base,), exec_body=lambda space: space.update(body))


def _fields(function: Function, skip_first: bool = False) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(function).parameters
    for each in parameters.values():
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise InputError(f"a parameter of {function.__name__} cannot be given by name", field=str(each))
    left_out = {UNIT, _data_of_unit(function)} if skip_first else {UNIT}
    return {name: each for name, each in parameters.items() if name not in left_out}


def _data_of_unit(function: Function) -> str | None:
    """Parameter that takes what a unit reads: the first one that is not a name; None if there is none."""
    names = inspect.signature(function).parameters
    return next((name for name in names if name not in (UNIT, PARTITION)), None)


def _said(parameter: inspect.Parameter) -> str:
    return str(parameter.replace(kind=parameter.KEYWORD_ONLY))


def _pairs(units: object, stage: str) -> list[tuple[object, object]]:
    if hasattr(units, "maintain_order"):  # of Polars, which else gives groups in another order each time
        units.maintain_order = True
    listed = units.items() if isinstance(units, Mapping) else units
    pairs: list[Any] = [*listed] if isinstance(listed, Iterable) else [None]
    if not all(isinstance(each, tuple) and len(each) == 2 for each in pairs):
        problem = f"the units of {stage} are not pairs of a name and what the unit reads"
        expected = 'e.g. a dict, or `frame.groupby("column")`'
        raise InputError(problem, found=repr(units)[:200], expected=expected)
    return pairs


def _length(data: Any) -> float:
    try:
        return float(len(data))
    except Exception:  # that of a scalar of NumPy, or of a sparse matrix, is refused
        return 1.0


def _name(name: Any) -> Plain:
    """The name of a unit, as plain data; None if it is missing, as where `groupby` keeps what has no name."""
    if isinstance(name, tuple):
        return tuple(_name(each) for each in name)
    plain = name.item() if hasattr(name, "item") else name
    if type(plain) in (str, int, bool) or (type(plain) is float and math.isfinite(plain)):
        return cast("Plain", plain)
    return None if plain is None or str(plain) in ("nan", "NaT", "<NA>") else str(plain)
