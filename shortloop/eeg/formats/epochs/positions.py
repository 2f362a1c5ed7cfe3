"""Positions of channels, on the head or in the helmet; apart, because the report needs them, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shortloop.base.types import FloatArray

# Coordinate frames of FIFF as numbers: importing MNE would put it into the keys of all formats.
HELMET, HEAD = 1, 4
FRAMES = {"eeg": HEAD, "mag": HELMET, "grad": HELMET}


def positions_of(signal: Any, channels: Sequence[str]) -> FloatArray | None:
    """Return positions of EEG channels and MEG sensors, (channels, 3) in m, NaN where unknown, or None."""
    found = np.full((len(channels), 3), np.nan)
    by_name = dict(zip(signal.ch_names, zip(signal.info["chs"], signal.get_channel_types(), strict=True)))
    for index, name in enumerate(channels):
        channel, kind = by_name[name]
        at = np.asarray(channel["loc"][:3], dtype=float)
        framed = channel["coord_frame"] == FRAMES.get(kind)
        if framed and np.isfinite(at).all() and at.any():
            found[index] = at
    return found if np.isfinite(found).any() else None


def mean_positions(every: Sequence[FloatArray | None]) -> FloatArray | None:
    """Average positions of the same channels, each over the recordings that know it."""
    known = [each for each in every if each is not None]
    if not known:
        return None
    stacked = np.stack(known)
    there = np.isfinite(stacked)
    count = there.sum(axis=0)
    total = np.where(there, stacked, 0.0).sum(axis=0)
    mean: FloatArray = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
    return mean
