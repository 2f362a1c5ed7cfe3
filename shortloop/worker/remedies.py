"""What makes a value that cannot be kept into one that can."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
from collections.abc import Iterable, Mapping

__all__ = ["remedy"]

# The first that fits counts.
REMEDIES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((enum.Enum,), "`{0}.name` or `{0}.value`"),
    ((datetime.timedelta,), "`{0}.total_seconds()` or `np.timedelta64({0})`"),
    ((datetime.date, datetime.time), "`{0}.isoformat()`"),
    ((decimal.Decimal, fractions.Fraction), "`float({0})`, or `str({0})` for all its digits"),
    ((complex,), "`np.complex128({0})`, under a name of its own"),
    ((pathlib.PurePath,), "`str({0})`"),
    ((bytes, bytearray, memoryview), '`bytes({0})` under a name with an ending, e.g. "model.pkl"'),
    ((set, frozenset), "`sorted({0})`"),
    ((bool, int, float, str), "the plain `{1}({0})`"),
    ((Mapping,), "`dict({0})`"),
    ((tuple,), "`tuple({0})`"),
)


def remedy(value: object, name: str = "x") -> str:
    """What to do with a value.

    Parameters
    ----------
    value : object
        One that cannot be kept.
    name : str, optional
        What it is called.

    Returns
    -------
    str
    """
    if hasattr(value, "to_frame"):
        return "`.to_frame()` makes a frame of it"
    if hasattr(value, "filled"):
        return "`.filled(…)` makes an array of it, with a value in place of each that is masked"
    if hasattr(value, "toarray"):
        return f"give `{name}.toarray()`, under a name of its own"
    if hasattr(value, "tolist"):
        return f"give `np.asarray({name})` under a name of its own, or `{name}.tolist()`"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return f"give `dataclasses.asdict({name})`"
    for kinds, text in REMEDIES:
        if isinstance(value, kinds):
            base = next(each for each in kinds if isinstance(value, each))
            return f"give {text.format(name, base.__name__)}"
    if isinstance(value, Iterable):
        return f"give `list({name})`"
    return "give numbers, texts, lists, dicts, arrays or frames that say the same"
