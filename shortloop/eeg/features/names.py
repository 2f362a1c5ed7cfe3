"""Channels and frequencies in the names of features, and the unit of power."""

from __future__ import annotations

import re
from collections.abc import Sequence

FREQUENCY = re.compile(r" (\S+) Hz point \d+$")
WITHOUT_SQUARE = ("", "1", "a.u.")  # units
WITHIN = re.compile(r" (?:\S+ ms|\S+ Hz point \d+)$")


def channels_of(names: Sequence[str]) -> tuple[str, ...]:
    """Channels of features that were computed here, channel by channel; empty for other features."""
    found = [WITHIN.sub("", name) for name in names]
    channels = tuple(dict.fromkeys(found))
    if not names or any(channel == name for channel, name in zip(found, names, strict=True)):
        return ()
    each, rest = divmod(len(names), len(channels))
    return channels if rest == 0 and [channel for channel in channels for _ in range(each)] == found else ()


def frequencies_of(names: Sequence[str]) -> tuple[float, ...]:
    """Frequencies of power features; empty for other features."""
    found = [float(each[1]) for name in names if (each := FREQUENCY.search(name))]
    frequencies, channels = tuple(dict.fromkeys(found)), channels_of(names)
    points = len(names) // max(1, len(channels) * len(frequencies))
    ordered = [each for _ in channels for each in frequencies for _ in range(points)]
    return frequencies if len(found) == len(names) and ordered == found else ()


def squared(unit: str) -> str:
    """Unit of power, from that of the signal."""
    if unit in WITHOUT_SQUARE:
        return unit
    above, _, below = unit.partition("/")
    raised = f"{below.removesuffix('²')}⁴" if below.endswith("²") else f"{below}²"
    return f"{above}²/{raised}" if below else f"{above}²"
