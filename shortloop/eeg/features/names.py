"""What the names of features say."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["channels_of"]

WITHIN = re.compile(r" (?:\S+ ms|\S+ Hz point \d+)$")


def channels_of(names: Sequence[str]) -> tuple[str, ...]:
    """The channels of features that were computed here, channel by channel.

    Parameters
    ----------
    names : sequence of str
        Names of the features of a bin, such as ``"Cz 12 ms"``.

    Returns
    -------
    tuple of str
        Each has as many features. Empty where names say of no channel, or not so.
    """
    found = [WITHIN.sub("", name) for name in names]
    channels = tuple(dict.fromkeys(found))
    if not names or any(channel == name for channel, name in zip(found, names, strict=True)):
        return ()
    each, rest = divmod(len(names), len(channels))
    ordered = [channel for channel in channels for _ in range(each)]
    return channels if rest == 0 and ordered == found else ()
