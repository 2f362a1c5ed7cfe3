"""The unit of power, from that of the signal."""

from __future__ import annotations

__all__ = ["squared"]

WITHOUT = ("", "1", "a.u.")
"""Units whose square is called the same."""


def squared(unit: str) -> str:
    """The square of a unit."""
    if unit in WITHOUT:
        return unit
    above, _, below = unit.partition("/")
    raised = f"{below.removesuffix('²')}⁴" if below.endswith("²") else f"{below}²"
    return f"{above}²/{raised}" if below else f"{above}²"
