"""Store arrays exactly as given, or refuse them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


NUMBERS = {bool, int, float, complex}
SCALARS = {*NUMBERS, str, bytes}
EXACT = {bool: "b", int: "iu", float: "fc"}  # kinds of arrays that hold all values of a type


def exact_array(value: object, name: str) -> np.ndarray:
    """Make an array of values; refuse those that NumPy would change for it."""
    import numpy as np

    kind = type(value)
    if kind is np.ndarray or kind is np.memmap:
        array: np.ndarray = value  # type: ignore[assignment]
    elif kind in NUMBERS or isinstance(value, np.generic):
        array = np.asarray(value)
    elif kind in (str, bytes, list, tuple):
        array = np.asarray(value)
        if not array.dtype.hasobject and not _is_same(value, array if array.ndim else array[()]):
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


def _is_same(given: Any, kept: Any) -> bool:
    """True if an array that NumPy made of values holds these."""
    import numpy as np

    if isinstance(given, list | tuple):
        kinds = set(map(type, given))
        is_exact = len(kinds) == 1 and kept.dtype.kind in EXACT.get(*kinds, "")
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
