"""Suspicious recordings: channels that are flat, copied or no signal, and samples of implausible size."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from blake3 import blake3

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray
from shortloop.eeg.checks.participants import few, key_of
from shortloop.eeg.data import Epochs

# A channel is flat if it varies by no more than rounding, relative to the usual span or to its own offset.
ROUNDING = 1e-10
MOST = 0.5  # of the trials; a channel that is flat in fewer was loose for a while
# V, SD of a channel within a trial. Brains give up to 1 mV, and drifting offsets some 10 mV; the noise of
# amplifiers is some 0.1 µV.
LARGEST, SMALLEST = 0.05, 1e-9
# Ratio of a channel's SD to the usual one: a few thousand for loose electrodes at the limits of an amplifier,
# a million for volts beside microvolts.
ODD, IMPOSSIBLE = 1e3, 1e5
NAMED = 8  # channels in a message
CODES = 6  # most values of a channel of codes in some trials; an amplifier gives hundreds
COUNTED = 0.9  # share of equal steps in a channel that counts


def typical_amplitude(data: FloatArray) -> float:
    """Return the median SD over samples of trials and channels; `data` are (trials, channels, samples)."""
    return float(np.median([trial.std(axis=1) for trial in data])) if data.size else 0.0


def warn_of_quality(epochs: Epochs, *, participant: str, phase: str) -> None:
    """Warn of suspicious samples; refuse recordings that are flat."""
    data = np.asarray(epochs.data)
    flat = _flat(data)
    if flat.all():
        raise InputError(
            f"nothing was recorded in the {phase} phase: all channels are flat",
            field="data",
            found=f"each of {data.shape[1]} channels has one value in each of {len(data)} trials",
            hint="export the recording again; if it was scaled or rounded to whole numbers, save what it was "
            "before",
        )
    _warn_of_flat(flat, epochs.channels, participant)
    _warn_of_copies(data, np.logical_not(flat.all(axis=0)), epochs.channels)
    usual = typical_amplitude(data)
    if epochs.unit == "V" and not SMALLEST <= usual <= LARGEST:
        much = "more than any brain gives" if usual > LARGEST else "less than the noise of an amplifier"
        _warn(
            f"samples that are given in V vary by {usual:.3g} V within a trial, {much}: they are probably in "
            "another unit; scale them, or say which if the format has a field for it (input.unit)"
        )


def refuse_other_units(data: FloatArray, channels: Sequence[str], types: Sequence[str]) -> None:
    """Refuse channels that must be in another unit than the others, before a reference spreads them.

    data: float, (trials, channels, samples). Some trials, unprocessed.
    """
    if min(data.shape) == 0:
        return
    with np.errstate(invalid="ignore"):  # NaN and infinite values are refused later, if they are in trials
        sizes = np.median(data.std(axis=2), axis=0)
    odd: dict[str, float] = {}
    for kind in dict.fromkeys(types):
        alike = {
            name: size
            for name, size, each in zip(channels, sizes, types, strict=True)
            if each == kind and size > ROUNDING * sizes.max()
        }
        ordered = sorted(alike.values())
        usual = ordered[(len(ordered) - 1) // 2] if ordered else 0.0
        odd |= {name: size / usual for name, size in alike.items() if size >= ODD * usual > 0}
    if not odd:
        return
    named, most = _named(list(odd)), max(odd.values())
    drop = f"leave out (input.drop = {list(odd)[:NAMED]})"
    if most < IMPOSSIBLE:
        _warn(f"{named} {most:.2g} times as large as the others: a loose electrode, or no EEG; {drop}")
        return
    raise InputError(
        f"channels differ {most:.2g}-fold in size: some are in another unit, or no EEG",
        field="input.drop",
        found=f"{named} {most:.2g} times as large as the others",
        expected="channels in one unit, of about one size",
        hint=f"{drop}, or export the recording again with the unit of each channel",
    )


def warn_of_codes(data: FloatArray, channels: Sequence[str]) -> None:
    """Warn of channels of event codes, from which the class can be read, and of counters.

    data: float, (trials, channels, samples). Some trials, unprocessed.
    """
    if min(data.shape) == 0 or data.shape[2] <= 2 * CODES:
        return
    steps = np.diff(data, axis=2)
    usual = np.median(steps, axis=(0, 2), keepdims=True)
    same = np.isclose(steps, usual, rtol=1e-6, atol=0).mean(axis=(0, 2)) > COUNTED
    counts = same & (usual[0, :, 0] != 0)
    codes = [1 < len(np.unique(each)) <= CODES for each in np.moveaxis(data, 1, 0)]
    named = [name for name, *odd in zip(channels, codes, counts, strict=True) if any(odd)]
    if named:
        _warn(
            f"{_named(named)} no signal, but a few codes, or a counter: a classifier could read the class "
            "from that; leave out (input.drop)"
        )


def _flat(data: np.ndarray) -> np.ndarray:
    """Find flat channels; trials × channels."""
    span = np.array([np.ptp(trial, axis=1) for trial in data], dtype=np.float64)
    level = np.array([np.abs(trial[:, 0]) for trial in data], dtype=np.float64)
    return np.asarray(span <= ROUNDING * np.maximum(np.median(span), level))


def _warn_of_flat(flat: np.ndarray, channels: Sequence[str], participant: str) -> None:
    of = len(flat)
    empty = flat.all(axis=1)
    if empty.any():
        first = int(np.flatnonzero(empty)[0]) + 1
        _warn(
            f"{empty.sum()} of {of} trials are flat in all channels, the first is trial {first}: a gap that "
            "was filled, or a pause of the amplifier; leave them out"
        )
        flat = flat[~empty]
    share = flat.mean(axis=0)
    remedy = (
        f"leave out (input.drop), or mark as bad (input.preprocessing.bads.{key_of(participant)}) and "
        "interpolate (input.preprocessing.interpolate)"
    )
    always = [name for name, each in zip(channels, share, strict=True) if each == 1]
    if always:
        _warn(
            f"{_named(always)} flat in all {of} trials: a reference, or an electrode that was not connected; "
            + remedy
        )
    mostly = {
        name: int(count)
        for name, each, count in zip(channels, share, flat.sum(axis=0), strict=True)
        if MOST <= each < 1
    }
    if mostly:
        most = max(mostly.values())
        _warn(f"{_named(list(mostly))} flat in {most} of {of} trials: a loose electrode; {remedy}")


def _warn_of_copies(data: np.ndarray, has_signal: np.ndarray, channels: Sequence[str]) -> None:
    first: dict[bytes, str] = {}
    copies = []
    for index, name in enumerate(channels):
        if has_signal[index]:
            digest = blake3(data[:, index].tobytes()).digest()
            if (original := first.setdefault(digest, name)) != name:
                copies.append(f"{name} of {original}")
    if copies:
        _warn(
            f"channels are copies of others: {', '.join(copies[:NAMED])}{' …' * (len(copies) > NAMED)}: one "
            "input was recorded or exported twice; leave the copies out (input.drop)"
        )


def _named(names: Sequence[str]) -> str:
    return f"channel {names[0]} is" if len(names) == 1 else f"channels {few(names, NAMED)} are"


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)
