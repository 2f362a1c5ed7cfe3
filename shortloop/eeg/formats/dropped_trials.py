"""Trials that are left out: beyond the recording, across a gap, by annotations, by amplitude."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.eeg.formats.empty_classes import AMPLITUDE, BEYOND, FLAT, GAP, counted, ends_earlier

if TYPE_CHECKING:
    from shortloop.eeg.formats.epoching import EpochedInput

__all__ = ["Log", "dropped_trials", "tell_of_dropped"]

REASONS = {
    "TOO_SHORT": BEYOND,
    "NO_DATA": BEYOND,
    "USER": "left out before it was saved",
    "BAD boundary": GAP,
}
Log = Sequence[Sequence[str]]


def dropped_trials(
    epochs: Any, log: Log, of: list[int], settings: EpochedInput
) -> tuple[Counter[tuple[int, str]], Counter[str]]:
    """Reject trials by amplitude."""
    by_index = {
        index: ", ".join(dict.fromkeys(REASONS.get(each, f"annotated as {each}") for each in reasons))
        for index, reasons in enumerate(log)
        if reasons
    }
    there = [index for index in range(len(log)) if index not in by_index]
    channels: Counter[str] = Counter()
    for field, reason in (("reject", AMPLITUDE), ("flat", FLAT)):
        thresholds = getattr(settings.preprocessing, field)
        if thresholds and len(epochs):
            before = epochs.selection.tolist()
            epochs.drop_bad(**{"reject": None, "flat": None, field: thresholds})
            kept = set(epochs.selection.tolist())
            for index, number in zip(there, before, strict=True):
                if number not in kept:
                    by_index[index] = reason
                    channels.update(epochs.drop_log[number])
            there = [index for index, number in zip(there, before, strict=True) if number in kept]
    return Counter((of[index], reason) for index, reason in by_index.items()), channels


def tell_of_dropped(
    dropped: Counter[tuple[int, str]],
    of: list[int],
    file: Path,
    participant: str,
    ends: float | None = None,
) -> None:
    """Warn of trials that were left out."""
    if dropped:
        reasons: Counter[str] = Counter()
        for (_, reason), count in dropped.items():
            reasons[reason] += count
        why = counted(reasons) + (f"; {ends_earlier(ends)}" if ends is not None else "")
        warnings.warn(
            f"{participant}, {file.name}: {dropped.total()} of {len(of)} trials were left out ({why})",
            stacklevel=2,
        )
