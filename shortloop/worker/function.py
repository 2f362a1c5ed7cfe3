"""Stages made of plain functions: one call for all, or one for each unit."""

from __future__ import annotations

import copy
import inspect
import math
import os
import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sized
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from shortloop.errors import InputError
from shortloop.plain import Plain
from shortloop.worker.content import content_of
from shortloop.worker.fields import fields_of
from shortloop.worker.rows import stacked, unpack
from shortloop.worker.stage import CollectingStage, Finished, Outputs, Stage
from shortloop.worker.tables import numbered_anew
from shortloop.worker.values import sorted_out

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["FunctionStage", "UnitsStage", "stage_of_function"]

UNIT, PARTITION = "unit", "partition"
"""Parameters that are no fields: the name of the unit, and the part of the data."""

Function: TypeAlias = Callable[..., object]


class FunctionStage(Stage):
    """A stage that calls a function once. What this returns, by name, is what the job leaves."""

    function: ClassVar[Function]

    def finish(self, out: Outputs) -> Finished:
        """Call the function."""
        function = type(self).function
        return sorted_out(function(**self._values(_fields(function))), type(self).__name__)

    def _values(self, fields: Iterable[str]) -> dict[str, object]:
        return {name: getattr(self, name) for name in fields}


class UnitsStage(CollectingStage, FunctionStage):
    """A stage that calls a function for each unit, with what this reads; another function gives the units."""

    units_of: ClassVar[Function]
    allow_empty: ClassVar[bool]

    @classmethod
    def read_by_all(cls) -> tuple[str, ...]:
        """Fields; the function is given a partition if it has a parameter of that name."""
        return cls.unit_fields

    def open(self) -> None:
        """Find the units."""
        kind = type(self)
        pairs = _pairs(kind.units_of(**self._values(_fields(kind.units_of))), kind.__name__)
        if not pairs and not kind.allow_empty:
            raise InputError(
                f"{kind.__name__} has no units: {kind.units_of.__name__} gives none",
                field=f"units={kind.units_of.__name__}",
                found=f"nothing; relative paths in it start from {os.getcwd()}",
                expected="a unit at least",
                hint="look at what it is given; `@stage(units=…, allow_empty=True)` allows for none",
            )
        self._names = [_name(name) for name, _ in pairs]
        self._reads = [numbered_anew(data) for _, data in pairs]
        self._shared = self._values(kind.unit_fields)
        self._options = fields_of(kind).options.keys() & kind.unit_fields
        self._takes_name = UNIT in inspect.signature(kind.function).parameters
        twice = [name for name, count in Counter(map(repr, self._names)).items() if count > 1]
        if twice:
            raise InputError(
                f"two units of {kind.__name__} have the same name",
                found=twice[0],
                hint=f"have {kind.units_of.__name__} give each unit a name of its own",
            )

    def units(self) -> list[float]:
        """What each unit costs: the length of what it reads."""
        return [float(len(data)) if isinstance(data, Sized) else 1.0 for data in self._reads]

    def unit_key(self, unit: int) -> bytes:
        """A hash of what it reads, and of its name if the function asks for that."""
        name = self._names[unit]
        return content_of([name if self._takes_name else None, self._reads[unit]], lambda: name)

    def compute(self, unit: int) -> Mapping[str, ArrayLike | bytes]:
        """Call the function with copies: what it does to them, no other unit sees."""
        own = {name: self._shared[name] for name in self._options}
        if self._takes_name:
            own[UNIT] = self._names[unit]
        reads, own = copy.deepcopy((self._reads[unit], own))
        function = type(self).function
        return function(reads, **{**self._shared, **own})  # type: ignore[return-value]

    def unit_name(self, unit: int) -> str:
        return f"{self._names[unit]} of {type(self).__name__}"

    def unit_names(self) -> list[Plain]:
        return self._names

    def finish(self, out: Outputs) -> Finished:
        """Put together what the units gave: arrays, their first axis the units, whose names are a fact."""
        arrays, tables = stacked(self._names, [unpack(row) for row in out.rows], type(self).__name__)
        along = {"units": "units"} if arrays else {}
        return Finished({"units": self._names}, arrays, tables=tables, coordinates=along)


def stage_of_function(
    function: Function, units: Function | None = None, allow_empty: bool = False
) -> type[FunctionStage]:
    """A stage made of a function. Its parameters are the fields of the stage.

    Parameters
    ----------
    function : callable
        Every parameter has a type: ``Job``, ``list[Job]``, ``Job | None``, ``File``, or that of an option.
        With `units`, the first is what one unit reads, and needs none.
    units : callable, optional
        Gives the units: pairs of a name and what the unit reads, a mapping, or what pandas gives for
        ``groupby``. Its parameters are fields, too. Rows of a pandas frame whose index has no name are
        numbered from 0 for each unit, so that rows of others, before them, change nothing.
    allow_empty : bool, default False
        True if there may be no units.

    Returns
    -------
    type of FunctionStage
        Of the function's name.

    Raises
    ------
    InputError
        If a parameter has no type, or one that both functions have is not the same in both.
    """
    fields = _fields(function, skip_first=units is not None)
    for name, each in (_fields(units) if units is not None else {}).items():
        if name in fields and _said(fields[name]) != _said(each):
            raise InputError(
                f"{function.__name__} and {units.__name__} do not say the same of a parameter",  # type: ignore[union-attr]
                field=name,
                found=_said(each),
                expected=_said(fields[name]),
            )
        fields.setdefault(name, each)
    for name, each in fields.items():
        if each.annotation is each.empty:
            raise InputError(
                f"a parameter of {function.__name__} has no type",
                field=name,
                expected="`Job` for a job, `File` for a file, else the type of the option",
                hint=f"write e.g. `{name}: float`",
            )
    own = {name: each for name, each in fields.items() if name != PARTITION}
    body: dict[str, object] = {
        "__module__": function.__module__,
        "__doc__": function.__doc__ or function.__name__,
        "__annotations__": {name: each.annotation for name, each in own.items()},
        "function": staticmethod(function),
        **{name: each.default for name, each in own.items() if each.default is not each.empty},
    }
    if units is None:
        return types.new_class(
            function.__name__, (FunctionStage,), exec_body=lambda space: space.update(body)
        )
    body["units_of"] = staticmethod(units)
    body["allow_empty"] = allow_empty
    body["unit_fields"] = tuple(_fields(function, skip_first=True))
    return types.new_class(function.__name__, (UnitsStage,), exec_body=lambda space: space.update(body))


def _fields(function: Function, skip_first: bool = False) -> dict[str, inspect.Parameter]:
    parameters = list(inspect.signature(function).parameters.values())
    for each in parameters:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise InputError(
                f"a parameter of {function.__name__} has no name that a build script could give",
                field=str(each),
                expected="parameters that can be given by name",
            )
    return {each.name: each for each in parameters[skip_first:] if each.name != UNIT}


def _said(parameter: inspect.Parameter) -> str:
    return str(parameter.replace(kind=parameter.KEYWORD_ONLY))


def _pairs(units: object, stage: str) -> list[tuple[object, object]]:
    pairs = (
        list(units.items() if isinstance(units, Mapping) else units) if isinstance(units, Iterable) else None
    )
    if pairs is None or not all(isinstance(each, tuple) and len(each) == 2 for each in pairs):
        raise InputError(
            f"the units of {stage} are not pairs of a name and what the unit reads",
            found=type(units).__name__ if pairs is None else repr(pairs[:1])[:200],
            expected='e.g. a dict, or `frame.groupby("column")`',
        )
    return pairs


def _name(name: Any) -> Plain:
    """The name of a unit, as plain data; None if it is missing, as where `groupby` keeps what has no name."""
    if isinstance(name, tuple):
        return tuple(_name(each) for each in name)
    plain = name.item() if hasattr(name, "item") else name
    if type(plain) in (str, int, bool) or (type(plain) is float and math.isfinite(plain)):
        return cast("Plain", plain)
    return None if plain is None or str(plain) in ("nan", "NaT", "<NA>") else str(plain)
