"""Continuous recordings in pieces: made of several, with a jump where two meet, or read in several."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

__all__ = ["as_one", "is_mark", "mark_gaps"]

# The first sample of a piece, as EEGLAB and BrainVision call it; EEGLAB has -99 where events are numbers.
MEETS = re.compile(r"(?i:boundary)|New Segment/.*")
NUMBER, WORD = re.compile(r"\s*-99(\.0*)?\s*"), "boundary"
OF_EEGLAB = (".set", ".fdt")


def as_one(raw: Any) -> None:
    """Mark where pieces of a recording meet, as MNE does of those that it joins; read at once what must be.

    Filters then end at a jump, and no trial is across it. Where channels have several rates, MNE brings them
    to one in each stretch that it reads: of stretches as short as a trial, hardly anything is right.
    """
    mark_gaps(raw)
    if any(_rates(extra) > 1 for extra in raw._raw_extras):  # noqa: SLF001  MNE has the header there
        raw.load_data()


def mark_gaps(raw: Any) -> None:
    """Mark where annotations say that pieces of a recording meet."""
    if any(Path(file).suffix in OF_EEGLAB for file in filter(None, raw.filenames)):
        names = {str(name) for name in raw.annotations.description if NUMBER.fullmatch(str(name))}
        raw.annotations.rename(dict.fromkeys(names, WORD))
    rate, start = raw.info["sfreq"], raw.first_time
    for onset, name in list(zip(raw.annotations.onset, raw.annotations.description, strict=True)):
        sample = math.ceil((onset - start) * rate - 1e-3)
        if MEETS.fullmatch(str(name)) and 0 < sample < raw.n_times:
            raw.annotations.append([start + sample / rate] * 2, 0.0, ["BAD boundary", "EDGE boundary"])


def is_mark(name: str) -> bool:
    """True if this marks a stretch, or where pieces meet, and is no event."""
    return bool(MEETS.fullmatch(name) or NUMBER.fullmatch(name) or name.lower().startswith(("bad", "edge")))


def _rates(extra: Any) -> int:
    """How many rates the channels of a file have, which only EDF and its kin tell apart."""
    samples = extra.get("n_samps") if isinstance(extra, dict) else None
    if samples is None:
        return 1
    others = {*extra.get("stim_channel_idxs", ()), *extra.get("tal_idx", ())}
    return len({int(each) for number, each in enumerate(samples) if number not in others})
