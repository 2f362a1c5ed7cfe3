"""Store arrays exactly as given, or refuse them."""

from __future__ import annotations

from itertools import chain
from operator import methodcaller
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


NUMBERS = {bool, int, float, complex}
SCALARS = {*NUMBERS, str, bytes}
CUT_OFF = methodcaller("endswith", "\0")  # NumPy drops such ends
COMPARED = {str, bytes, list, tuple}  # NumPy may change what they hold


def exact_array(value: object, name: str) -> np.ndarray:
    """Make an array of values; refuse those that NumPy would change for it."""
    import numpy as np

    kind = type(value)
    if kind is np.ndarray or kind is np.memmap:
        array: np.ndarray = value  # type: ignore[assignment]
    elif kind in NUMBERS or isinstance(value, np.generic):
        array = np.asarray(value)
    elif kind in COMPARED:
        array = np.asarray(value)
        if not array.dtype.hasobject and not _is_same(value, array):
            raise ValueError(
                f"{name} has values that an array of {array.dtype} would change: give each type its own"
            )
    else:
        raise ValueError(
            f"{name} is of type {kind.__module__}.{kind.__qualname__}; give numbers, texts or an array, e.g. "
            "`np.asarray(x)`"
        )
    if array.dtype.hasobject:
        raise ValueError(f"{name} is an array of objects; `.astype(…)` makes numbers or texts of them")
    return array


def is_exact(value: object) -> bool:
    """True if `exact_array` gives an array of it."""
    try:
        exact_array(value, "")
    except ValueError:
        return False
    return True


def _is_same(given: Any, array: np.ndarray) -> bool:
    """True if an array that NumPy made of values holds these."""
    if not isinstance(given, list | tuple):
        return _is_same_element(given, array[()])
    kinds = set(map(type, given))
    if kinds <= {list, tuple} and array.ndim == 2:
        inner = chain.from_iterable(given)
        return _is_same([*inner], array.reshape(-1))
    if len(kinds) == 1 and array.ndim == 1:
        (kind,) = kinds
        if kind in (bool, float):
            return True
        if kind is int:
            return array.dtype.kind in "iu"
        if kind is str:
            return not any(map(CUT_OFF, given))
    return all(map(_is_same_part, given, array))


def _is_same_part(given: Any, part: Any) -> bool:
    import numpy as np

    if isinstance(given, list | tuple):
        return _is_same(given, part)
    if type(given) is np.ndarray or type(given) is np.memmap:
        return given.dtype == part.dtype or all(map(_is_same_element, given.ravel(), part.ravel()))
    return _is_same_element(given, part)


def _is_same_element(given: Any, kept: Any) -> bool:
    import numpy as np

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
