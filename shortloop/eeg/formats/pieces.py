"""Continuous recordings in pieces: made of several, with a jump where two meet, or read in several."""

from __future__ import annotations

import math
import re
from typing import Any

__all__ = ["as_one"]

MEETS = re.compile(r"boundary|New Segment/.*")  # what EEGLAB and BrainVision call the first sample of a piece


def as_one(raw: Any) -> None:
    """Mark where pieces of a recording meet, as MNE does of those that it joins; read at once what must be.

    Filters then end at a jump, and no trial is across it. Where channels have several rates, MNE brings them
    to one in each stretch that it reads: of stretches as short as a trial, hardly anything is right.

    Parameters
    ----------
    raw : mne.io.BaseRaw
        The recording, whose annotations are added to, and which is perhaps loaded.
    """
    rate, start = raw.info["sfreq"], raw.first_time
    for onset, name in list(zip(raw.annotations.onset, raw.annotations.description, strict=True)):
        sample = math.ceil((onset - start) * rate - 1e-3)
        if MEETS.fullmatch(str(name)) and 0 < sample < raw.n_times:
            raw.annotations.append([start + sample / rate] * 2, 0.0, ["BAD boundary", "EDGE boundary"])
    if any(_rates(extra) > 1 for extra in raw._raw_extras):
        raw.load_data()


def _rates(extra: Any) -> int:
    """How many rates the channels of a file have, which only EDF and its kin tell apart."""
    samples = extra.get("n_samps") if isinstance(extra, dict) else None
    if samples is None:
        return 1
    others = {*extra.get("stim_channel_idxs", ()), *extra.get("tal_idx", ())}
    return len({int(each) for number, each in enumerate(samples) if number not in others})
