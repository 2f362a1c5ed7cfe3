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
        E.g. ``"V²"``, ``"T²/m²"``; T/m² would be another quantity.
    """
    if unit in WITHOUT:
        return unit
    above, _, below = unit.partition("/")
    raised = f"{below.removesuffix('²')}⁴" if below.endswith("²") else f"{below}²"
    return f"{above}²/{raised}" if below else f"{above}²"
