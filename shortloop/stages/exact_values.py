"""Facts as JSON with the types that it lacks, and arrays exactly as given, or refused."""

from __future__ import annotations

import datetime
import json
import math
import pathlib
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from shortloop.base.plain import Plain, copied

if TYPE_CHECKING:
    import numpy as np

ARRAY = "array"  # the type of an array of no axes, which would otherwise be read as a scalar
AS_THEY_ARE = {bool, int, str, type(None)}  # immutable types that JSON has
SEQUENCES = {"list": list, "tuple": tuple}
MAPPINGS = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
SETS = {"set": set, "frozenset": frozenset}
PAIRS = " of pairs"  # follows the name of a mapping whose keys are no texts
MOST = 1000  # bytes that a record holds as text
FLOAT_BYTES = 8  # of the widest that JSON can hold


class NotPlain(TypeError):
    """A value in a fact that JSON cannot hold, even with types beside it."""


def with_types(value: object) -> tuple[Plain, Plain]:
    """Convert a fact to JSON and its types."""
    try:
        return _with_types(value)
    except RecursionError:
        raise NotPlain("a list or dict that is part of itself") from None


def as_given(plain: Plain, types: Plain) -> object:
    """Restore a fact from JSON and its types; a copy of its own."""
    given: Any = plain
    if types is None:
        if type(given) is list and AS_THEY_ARE.issuperset(map(type, given)):
            return given.copy()  # many units may ask for the same thousands of names
        return copied(given) if isinstance(given, list | dict) else given
    name, below = cast("tuple[str, Any]", types)
    if name in SEQUENCES:
        if not below:
            return SEQUENCES[name](cast("Any", as_given(given, None)))
        every = below.get("")  # if all have the same type
        return SEQUENCES[name](as_given(each, every or below.get(str(at))) for at, each in enumerate(given))
    if name in MAPPINGS:
        return MAPPINGS[name]({key: as_given(each, below.get(key)) for key, each in given.items()})
    if name in SETS:
        return SETS[name](cast("Any", as_given(given, below)))
    if name.endswith(PAIRS):
        return MAPPINGS[name.removesuffix(PAIRS)](cast("Any", as_given(given, below)))
    if name in _readers():
        return _readers()[name](given)
    if name == "float":
        return float(below)
    import numpy as np

    return np.dtype(name).type(as_given(given, below))


def _with_types(value: Any) -> tuple[Plain, Plain]:
    if (kind := type(value)) in AS_THEY_ARE:
        return value, None
    if kind is float:
        return (value, None) if math.isfinite(value) else (None, ["float", repr(value)])
    if SEQUENCES.get(kind.__name__) is kind:
        return _sequence(value)
    if MAPPINGS.get(kind.__name__) is kind:
        return _mapping(value)
    if SETS.get(kind.__name__) is kind:  # their order differs between processes
        plain, types = _sequence(sorted(value, key=lambda each: json.dumps(_with_types(each))))
        return plain, [kind.__name__, types]
    if (numpy := sys.modules.get("numpy")) is not None and isinstance(value, numpy.generic):
        code = value.dtype.kind
        if code == "U" or (code in "biuf" and value.dtype.itemsize <= FLOAT_BYTES):
            plain, types = _with_types(value.item())
            return plain, [value.dtype.str, types]
    name = f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}".removeprefix("builtins.")
    if name in _readers() and (text := _text_of(name, value)) is not None:
        return text, [name, None]
    raise NotPlain(name)


def _text_of(name: str, value: Any) -> Plain:
    """Text or number from which `_readers` restores a value; None if it cannot."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= MOST else None
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1)
    text = str(value)
    try:  # a time may have a zone of its own making
        return text if repr(_readers()[name](text)) == repr(value) else None
    except ValueError:
        return None


@cache
def _readers() -> dict[str, Callable[[Any], object]]:
    """Functions that restore values of the standard library from text, by the type's name."""
    import decimal
    import fractions
    import uuid

    return {
        "complex": complex,
        "bytes": bytes.fromhex,
        "datetime.date": datetime.date.fromisoformat,
        "datetime.datetime": datetime.datetime.fromisoformat,
        "datetime.time": datetime.time.fromisoformat,
        "datetime.timedelta": lambda microseconds: datetime.timedelta(microseconds=microseconds),
        "decimal.Decimal": decimal.Decimal,
        "fractions.Fraction": fractions.Fraction,
        "pathlib.PosixPath": pathlib.Path,
        "pathlib.PurePosixPath": pathlib.PurePosixPath,
        "uuid.UUID": uuid.UUID,
    }


def _sequence(value: Any) -> tuple[Plain, Plain]:
    name, kinds = type(value).__name__, set(map(type, value))
    if kinds <= {*AS_THEY_ARE, float} and all(math.isfinite(each) for each in value if type(each) is float):
        return [*value], None if name == "list" else [name, {}]
    if name == "list" and kinds == {list} and {*map(type, chain.from_iterable(value))} <= {*AS_THEY_ARE}:
        return [[*each] for each in value], None  # as below, at once
    found = [_with_types(each) for each in value]
    plain = [each for each, _ in found]
    below: dict[str, Plain] = {str(at): types for at, (_, types) in enumerate(found) if types is not None}
    if len(below) == len(found) and all(types == found[0][1] for _, types in found):
        below = {"": found[0][1]}
    return plain, cast("Plain", [name, below]) if below or name != "list" else None


def _mapping(value: Mapping[Any, Any]) -> tuple[Plain, Plain]:
    name = type(value).__name__
    if any(type(key) is not str for key in value):
        plain, types = _sequence([[key, each] for key, each in value.items()])
        return plain, [f"{name}{PAIRS}", types]
    found = {key: _with_types(each) for key, each in value.items()}
    below = {key: types for key, (_, types) in found.items() if types is not None}
    types = cast("Plain", [name, below]) if below or name != "dict" else None
    return {key: each for key, (each, _) in found.items()}, types


NUMBERS = {bool, int, float, complex}
SCALARS = {*NUMBERS, str, bytes}
EXACT = {bool: "b", int: "iu", float: "fc"}  # kinds of arrays that hold all values of a type


def exact_array(value: object, name: str) -> np.ndarray:
    """Make an array of values; refuse those that NumPy would change for it."""
    import numpy as np

    if (kind := type(value)) is np.ndarray or kind is np.memmap:
        array: np.ndarray = value  # type: ignore[assignment]
    elif kind in NUMBERS or isinstance(value, np.generic):
        array = np.asarray(value)
    elif kind in (str, bytes, list, tuple):
        array = np.asarray(value)
        if not array.dtype.hasobject and not _is_same(value, array if array.ndim else array[()]):
            problem = f"{name} has values that an array of {array.dtype} would change: give each type its own"
            raise ValueError(problem)
    else:
        raise ValueError(
            f"{name} is of type {kind.__module__}.{kind.__qualname__}; give numbers, texts or an array, e.g. "
            "`np.asarray(x)`"
        )
    if array.dtype.hasobject:
        raise ValueError(f"{name} is an array of objects; `.astype(…)` makes numbers or texts of them")
    return array


def array_or_none(value: object) -> np.ndarray | None:
    """Make an array of values; None for those that NumPy would change for it."""
    try:
        return exact_array(value, "")
    except ValueError:
        return None


def _is_same(given: Any, kept: Any) -> bool:
    """True if an array that NumPy made of values holds these."""
    import numpy as np

    if isinstance(given, list | tuple):
        kinds = set(map(type, given))
        is_exact = len(kinds) == 1 and kept.dtype.kind in EXACT.get(kinds.pop(), "")
        return is_exact or all(map(_is_same, given, kept))
    if type(given) in (np.ndarray, np.memmap):
        return given.dtype == kept.dtype or all(map(_is_same, given.ravel(), kept.ravel()))
    if not isinstance(given, np.generic) and type(given) not in SCALARS:
        return False
    if isinstance(given, str) or isinstance(kept, np.str_):
        return isinstance(given, str) and str(kept) == given
    if isinstance(given, bytes) or isinstance(kept, np.bytes_):
        return isinstance(given, bytes) and bytes(kept) == given
    if isinstance(given, np.generic):
        if given.dtype.kind in "mM":  # of which even a comparison may overflow
            return bool(given.dtype == kept.dtype)
        given = given.item()
    kept = kept.item()  # Python compares ints and floats digit by digit
    return bool(kept == given or (kept != kept and given != given))
