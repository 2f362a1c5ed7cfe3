"""The unit of power, from that of the signal."""

from __future__ import annotations

__all__ = ["squared"]

WITHOUT = ("", "1", "a.u.")
"""Units whose square is called the same."""


def squared(unit: str) -> str:
    """The square of a unit.

    Parameters
    ----------
    unit : str
        E.g. ``"V"``, ``"T/m"``.

    Returns
    -------
    str
        E.g. ``"V²"``, ``"(T/m)²"``; T/m² would be another quantity.
    """
    if unit in WITHOUT:
        return unit
    return f"({unit})²" if "/" in unit else f"{unit}²"
