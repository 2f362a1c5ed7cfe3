"""Trials that are left out: beyond the recording, across a gap, by annotations, by amplitude."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.eeg.formats.left_out import AMPLITUDE, BEYOND, FLAT, GAP, counted, ends_earlier

if TYPE_CHECKING:
    from shortloop.eeg.formats.signals import SignalInput

__all__ = ["Log", "dropped_trials", "tell_of_dropped"]

REASONS = {
    "TOO_SHORT": BEYOND,
    "NO_DATA": BEYOND,
    "USER": "left out before it was saved",
    "BAD boundary": GAP,
}
Log = Sequence[Sequence[str]]


def dropped_trials(
    epochs: Any, log: Log, of: list[int], settings: SignalInput
) -> tuple[Counter[tuple[int, str]], Counter[str]]:
    """Reject trials by amplitude.

    Parameters
    ----------
    epochs : mne.BaseEpochs
        Epochs that were cut; those that are rejected are dropped.
    log : sequence of sequence of str
        Why each trial is not among them; empty: it is.
    of : list of int
        Class of each trial.
    settings : SignalInput
        With the thresholds.

    Returns
    -------
    dropped : Counter of (int, str)
        Trials that were left out, by class and reason.
    channels : Counter of str
        Trials that each channel rejected.
    """
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
    """Warn of trials that were left out.

    Parameters
    ----------
    dropped : Counter of (int, str)
        What `dropped_trials` gave.
    of : list of int
        Class of each trial.
    file, participant
        Which recording, and whose.
    ends : float, optional
        Where epochs would have to end, s, for none to be beyond the recording or across a gap.
    """
    if dropped:
        reasons: Counter[str] = Counter()
        for (_, reason), count in dropped.items():
            reasons[reason] += count
        why = counted(reasons) + (f"; {ends_earlier(ends)}" if ends is not None else "")
        warnings.warn(
            f"{participant}, {file.name}: {dropped.total()} of {len(of)} trials were left out ({why})",
            stacklevel=2,
        )
