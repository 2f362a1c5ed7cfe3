"""Checks of one recording that later stages rely on, and warnings of what is suspicious in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from blake3 import blake3

from shortloop.base.errors import InputError, warn
from shortloop.base.text import short_list
from shortloop.base.types import FloatArray
from shortloop.eeg.checks.duplicate_trials import copies_of, refuse_same_features
from shortloop.eeg.checks.participants import key_of
from shortloop.eeg.data import Epochs, Features

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


def check_epochs(epochs: Epochs, *, participant: str, phase: str) -> None:
    """Check one participant's epochs in one phase."""
    data = np.asarray(epochs.data)
    wanted = (len(epochs.labels), len(epochs.channels), len(epochs.times))
    if data.shape != wanted:
        expected = f"{wanted[0]} labels × {wanted[1]} channel names × {wanted[2]} times"
        raise _do_not_fit(f"arrays of the {phase} phase", data.shape, expected)
    _check_labels(epochs.labels, epochs.classes, phase)
    twice = [name for name, count in Counter(epochs.channels).items() if count > 1]
    if twice or not epochs.channels:
        problem = "two channels have the same name" if twice else "there are no channels"
        hint = "give each channel its own name" if twice else "do not drop all channels"
        raise InputError(problem, field="channels", found=", ".join(twice) or "none", hint=hint)
    _check_times(np.asarray(epochs.times), epochs.sfreq)
    finite = np.isfinite(data)
    if not finite.all():
        trial, channel = np.argwhere(~finite.all(axis=2))[0]
        raise _not_finite(finite, f"first in trial {trial + 1}, channel {epochs.channels[channel]}", phase)
    warn_of_quality(epochs, participant=participant, phase=phase)


def check_features(features: Features, phase: str) -> None:
    """Check one participant's features in one phase."""
    wanted = (len(features.times), len(features.labels), len(features.names))
    if features.data.shape != wanted or 0 in (wanted[0], wanted[2]):
        expected = f"{wanted[0]} bins × {wanted[1]} labels × {wanted[2]} feature names, none of them 0"
        raise _do_not_fit(f"features of the {phase} phase", features.data.shape, expected)
    _check_labels(features.labels, features.classes, phase)
    times = np.asarray(features.times)
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError("times of the bins do not increase", field="times", found=_span(times))
    for index, values in enumerate(features.data):
        finite = np.isfinite(values)
        if not finite.all():
            trial, name = np.argwhere(~finite)[0]
            first = f"first in bin {index + 1}, trial {trial + 1}, feature {features.names[name]}"
            raise _not_finite(finite, first, phase)
    refuse_same_features(features.data, phase)


def _do_not_fit(what: str, shape: tuple[int, ...], expected: str) -> InputError:
    problem = f"the {what} do not fit together"
    return InputError(problem, field="data", found=f"shape {shape}", expected=expected)


def _check_labels(labels: Any, classes: Sequence[str], phase: str) -> None:
    labels = np.asarray(labels)
    if labels.size == 0:
        raise InputError(f"there are no trials in the {phase} phase", hint="check the names of the events")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= len(classes):
        problem = f"labels of the {phase} phase are not indices of classes"
        found = f"{labels.dtype} from {labels.min()} to {labels.max()}"
        expected = f"integers from 0 to {len(classes) - 1}"
        raise InputError(problem, field="labels", found=found, expected=expected)
    counts = dict(zip(classes, np.bincount(labels, minlength=len(classes)).tolist()))
    if missing := [name for name, count in counts.items() if not count]:
        problem = f"the {phase} phase has no trials of {', '.join(missing)}"
        found = ", ".join(f"{count} {name}" for name, count in counts.items())
        hint = "check the names of the classes and of their events in the study file"
        raise InputError(problem, field="classes", found=found, hint=hint)


def _check_times(times: np.ndarray, sfreq: float) -> None:
    if not (np.isfinite(sfreq) and sfreq > 0):
        raise InputError("the sampling rate is not a positive number", field="sfreq", found=sfreq)
    check_increasing(times, "times")
    if (off := np.abs(times - times[0] - np.arange(len(times)) / sfreq).max() * sfreq) > 0.25:
        problem = "times do not match the sampling rate"
        found = f"{_span(times)}, up to {off:.3g} samples off"
        expected = f"steps of {1 / sfreq:.6g} s ({sfreq:g} Hz)"
        raise InputError(problem, field="times", found=found, expected=expected)


def check_increasing(times: np.ndarray, field: str) -> None:
    """Refuse times that do not increase."""
    if len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        expected = "two samples or more, each later than the one before"
        raise InputError("times do not increase", field=field, found=_span(times), expected=expected)


def _not_finite(finite: np.ndarray, first: str, phase: str) -> InputError:
    count = finite.size - np.count_nonzero(finite)
    problem = f"values that are not finite numbers in the {phase} phase"
    found = f"{count} of {finite.size} values are NaN or infinite, {first}"
    return InputError(problem, field="data", found=found, hint="repair or leave out these trials or channels")


def _span(times: np.ndarray) -> str:
    return f"{len(times)} times from {times[0]:g} to {times[-1]:g}" if len(times) else "no times"


def typical_amplitude(data: FloatArray) -> float:
    """Return the median SD over samples of trials and channels; `data` are (trials, channels, samples)."""
    return float(np.median([trial.std(axis=1) for trial in data])) if data.size else 0.0


def warn_of_quality(epochs: Epochs, *, participant: str, phase: str) -> None:
    """Warn of suspicious samples; refuse recordings that are flat."""
    data = np.asarray(epochs.data)
    span = np.array([np.ptp(trial, axis=1) for trial in data], dtype=np.float64)
    level = np.array([np.abs(trial[:, 0]) for trial in data], dtype=np.float64)
    flat = np.asarray(span <= ROUNDING * np.maximum(np.median(span), level))  # trials × channels
    if flat.all():
        problem = f"nothing was recorded in the {phase} phase: all channels are flat"
        found = f"each of {data.shape[1]} channels has one value in each of {len(data)} trials"
        hint = "export the recording again, neither scaled nor rounded to whole numbers"
        raise InputError(problem, field="data", found=found, hint=hint)
    _warn_of_flat(flat, epochs.channels, participant)
    _warn_of_copies(data, np.logical_not(flat.all(axis=0)), epochs.channels)
    usual = typical_amplitude(data)
    if epochs.unit == "V" and not SMALLEST <= usual <= LARGEST:
        much = "more than any brain gives" if usual > LARGEST else "less than the noise of an amplifier"
        warn(
            f"samples that are given in V vary by {usual:.3g} V within a trial, {much}: they are probably in "
            "another unit; scale them, or say which if the format has a field for it (input.unit)"
        )


def refuse_other_units(data: FloatArray, channels: Sequence[str], types: Sequence[str]) -> None:
    """Refuse channels in another unit than the others; data: some trials as recorded × channels × samples."""
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
        warn(f"{named} {most:.2g} times as large as the others: a loose electrode, or no EEG; {drop}")
        return
    problem = f"channels differ {most:.2g}-fold in size: some are in another unit, or no EEG"
    found = f"{named} {most:.2g} times as large as the others"
    hint = f"{drop}, or export the recording again with the unit of each channel"
    raise InputError(problem, field="input.drop", found=found, hint=hint)


def warn_of_codes(data: FloatArray, channels: Sequence[str]) -> None:
    """Warn of channels of event codes and counters; data: some trials as recorded, × channels × samples."""
    if min(data.shape) == 0 or data.shape[2] <= 2 * CODES:
        return
    steps = np.diff(data, axis=2)
    usual = np.median(steps, axis=(0, 2), keepdims=True)
    same = np.isclose(steps, usual, rtol=1e-6, atol=0).mean(axis=(0, 2)) > COUNTED
    counts = same & (usual[0, :, 0] != 0)
    codes = [1 < len(np.unique(each)) <= CODES for each in np.moveaxis(data, 1, 0)]
    if named := [name for name, *odd in zip(channels, codes, counts, strict=True) if any(odd)]:
        warn(
            f"{_named(named)} no signal, but a few codes, or a counter: a classifier could read the class "
            "from that; leave out (input.drop)"
        )


def _warn_of_flat(flat: np.ndarray, channels: Sequence[str], participant: str) -> None:
    of = len(flat)
    empty = flat.all(axis=1)
    if empty.any():
        first = int(np.flatnonzero(empty)[0]) + 1
        warn(
            f"{empty.sum()} of {of} trials are flat in all channels, the first is trial {first}: a gap that "
            "was filled, or a pause of the amplifier; leave them out"
        )
        flat = flat[~empty]
    share = flat.mean(axis=0)
    bads, repair = f"input.preprocessing.bads.{key_of(participant)}", "input.preprocessing.interpolate"
    remedy = f"leave out (input.drop), or mark as bad ({bads}) and interpolate ({repair})"
    names = np.array(channels, object)
    always, mostly = share == 1, (share >= MOST) & (share < 1)
    if always.any():
        cause = "a reference, or an electrode that was not connected"
        warn(f"{_named(names[always].tolist())} flat in all {of} trials: {cause}; {remedy}")
    if mostly.any():
        most = flat.sum(axis=0)[mostly].max()
        warn(f"{_named(names[mostly].tolist())} flat in {most} of {of} trials: a loose electrode; {remedy}")


def _warn_of_copies(data: np.ndarray, has_signal: np.ndarray, channels: Sequence[str]) -> None:
    digests = (blake3(data[:, at].tobytes()).digest() if on else None for at, on in enumerate(has_signal))
    if copies := copies_of(digests):
        named = short_list([f"{channels[at]} of {channels[first]}" for at, first in copies.items()], NAMED)
        cause = "one input was recorded or exported twice"
        warn(f"channels are copies of others: {named}: {cause}; leave the copies out (input.drop)")


def _named(names: Sequence[str]) -> str:
    return f"channel {names[0]} is" if len(names) == 1 else f"channels {short_list(names, NAMED)} are"
