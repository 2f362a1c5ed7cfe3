"""What the names of features say."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["channels_of", "frequencies_of"]

FREQUENCY = re.compile(r" (\S+) Hz point \d+$")
WITHIN = re.compile(r" (?:\S+ ms|\S+ Hz point \d+)$")


def channels_of(names: Sequence[str]) -> tuple[str, ...]:
    """The channels of features that were computed here, channel by channel."""
    found = [WITHIN.sub("", name) for name in names]
    channels = tuple(dict.fromkeys(found))
    if not names or any(channel == name for channel, name in zip(found, names, strict=True)):
        return ()
    each, rest = divmod(len(names), len(channels))
    ordered = [channel for channel in channels for _ in range(each)]
    return channels if rest == 0 and ordered == found else ()


def frequencies_of(names: Sequence[str]) -> tuple[float, ...]:
    """The frequencies of features of power."""
    found = [float(each[1]) for name in names if (each := FREQUENCY.search(name))]
    frequencies, channels = tuple(dict.fromkeys(found)), channels_of(names)
    points = len(names) // max(1, len(channels) * len(frequencies))
    ordered = [each for _ in channels for each in frequencies for _ in range(points)]
    return frequencies if len(found) == len(names) and ordered == found else ()
