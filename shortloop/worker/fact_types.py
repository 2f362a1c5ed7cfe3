"""Facts of a job as JSON, and beside it types that JSON lacks: tuples, nan, scalars of NumPy."""

from __future__ import annotations

import math
import sys
from collections import Counter, OrderedDict
from collections.abc import Mapping
from typing import Any, cast

from shortloop.plain import Plain, copied

__all__ = ["ARRAY", "NotPlain", "all_with_types", "as_given", "with_types"]

ARRAY = "array"
"""The type of an array of no axes, which else comes back as a scalar."""

AS_THEY_ARE = {bool, int, str, type(None)}
SEQUENCES = {"list": list, "tuple": tuple}
MAPPINGS = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
NUMPY_KINDS = "biufU"
SAID = 80  # characters of a value
FLOAT_BYTES = 8  # of the widest that JSON can hold


class NotPlain(TypeError):
    """A value in a fact that cannot be kept.

    Parameters
    ----------
    where : str
        Where in the fact, e.g. ``["a"][2]``.
    found : str
        What it is.
    hint : str
        What to do about it.
    """

    def __init__(self, where: str, found: str, hint: str) -> None:
        self.where, self.found, self.hint = where, found, hint
        super().__init__(": ".join(filter(None, (where, f"{found}; {hint}"))))


def with_types(value: object) -> tuple[Plain, Plain]:
    """A fact as JSON, and its types.

    Parameters
    ----------
    value : object
        Numbers, texts, truth values and None, and lists, tuples and dicts of these.

    Returns
    -------
    plain : Plain
        What JSON can hold; None in place of a number that is not finite.
    types : Plain
        None if that is all. Else a list of the name of the type, and of types by index or key.

    Raises
    ------
    NotPlain
        If something else is in it.
    """
    try:
        return _with_types(value, "")
    except RecursionError:
        raise NotPlain("", "a list or dict that is part of itself", "leave that part out") from None


def all_with_types(facts: Mapping[str, object], what: str) -> tuple[dict[str, Plain], dict[str, Plain]]:
    """All facts of a job as JSON, and the types of those that need any; see `with_types`.

    Parameters
    ----------
    facts : mapping of str to object
        By name.
    what : str
        What messages call the stage.

    Returns
    -------
    plain, types : dict

    Raises
    ------
    ValueError
        If one cannot be kept.
    """
    plain: dict[str, Plain] = {}
    types: dict[str, Plain] = {}
    for name, fact in facts.items():
        try:
            plain[name], found = with_types(fact)
        except NotPlain as error:
            raise ValueError(f"{what} gives a fact {name} that is no plain data: {error}") from None
        if found is not None:
            types[name] = found
    return plain, types


def as_given(plain: Plain, types: Plain) -> object:
    """A fact as it was given; nothing in it is shared.

    Parameters
    ----------
    plain, types
        As of `with_types`.

    Returns
    -------
    object
    """
    if types is None:
        return copied(plain) if isinstance(plain, list | dict) else plain
    name, below = cast("tuple[str, dict[str, Plain]]", types)
    if name in SEQUENCES:
        parts = cast("list[Plain]", plain)
        every = below.get("")  # all of them have the same
        return SEQUENCES[name](
            as_given(each, every or below.get(str(number))) for number, each in enumerate(parts)
        )
    if name in MAPPINGS:
        items = cast("dict[str, Plain]", plain).items()
        return MAPPINGS[name]({key: as_given(each, below.get(key)) for key, each in items})
    if name == "float":
        return float(cast("str", below))
    import numpy as np

    return np.dtype(name).type(as_given(plain, cast("Plain", below)))


def _with_types(value: Any, where: str) -> tuple[Plain, Plain]:
    kind = type(value)
    if kind in AS_THEY_ARE:
        return value, None
    if kind is float:
        return (value, None) if math.isfinite(value) else (None, ["float", repr(value)])
    if SEQUENCES.get(kind.__name__) is kind:
        return _sequence(value, where)
    if MAPPINGS.get(kind.__name__) is kind:
        return _mapping(value, where)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic) and _fits(value):
        plain, types = _with_types(value.item(), where)
        return plain, [value.dtype.str, types]
    from shortloop.worker.remedies import remedy

    said = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    raise NotPlain(where, f"{said}: {value!r}"[:SAID], remedy(value))


def _fits(value: Any) -> bool:
    """True if JSON can hold a scalar of NumPy."""
    return value.dtype.kind == "U" or (
        value.dtype.kind in NUMPY_KINDS and value.dtype.itemsize <= FLOAT_BYTES
    )


def _sequence(value: Any, where: str) -> tuple[Plain, Plain]:
    name, kinds = type(value).__name__, set(map(type, value))
    if kinds <= AS_THEY_ARE or (kinds <= {*AS_THEY_ARE, float} and _are_finite(value)):
        return [*value], None if name == "list" else [name, {}]
    found = [_with_types(each, f"{where}[{number}]") for number, each in enumerate(value)]
    plain = [each for each, _ in found]
    below: dict[str, Plain] = {
        str(number): types for number, (_, types) in enumerate(found) if types is not None
    }
    if len(below) == len(found) and all(types == found[0][1] for _, types in found):
        below = {"": found[0][1]}
    return plain, cast("Plain", [name, below]) if below or name != "list" else None


def _mapping(value: Mapping[Any, Any], where: str) -> tuple[Plain, Plain]:
    name = type(value).__name__
    for key in value:
        if type(key) is not str:
            hint = "give texts as keys: `{str(key): each for key, each in x.items()}`"
            raise NotPlain(where, f"{key!r} is a key, and no text", hint)
    found = {key: _with_types(each, f"{where}[{key!r}]") for key, each in value.items()}
    below = {key: types for key, (_, types) in found.items() if types is not None}
    types = cast("Plain", [name, below]) if below or name != "dict" else None
    return {key: each for key, (each, _) in found.items()}, types


def _are_finite(values: Any) -> bool:
    return all(math.isfinite(each) for each in values if type(each) is float)
