"""Several files, one recording: what each file gives, joined after they are found to agree."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.checks.participants import key_of
from shortloop.eeg.checks.plausible import same_rate
from shortloop.eeg.checks.same_trials import trial_digests
from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.empty_classes import left_out
from shortloop.eeg.formats.positions import mean_positions

__all__ = ["Part", "join"]

PARALLEL = 10  # trials from which on it is no accident that two files share their onsets
SHARED = 0.9  # of the trials: a few may be left out of one of them


@dataclass(frozen=True)
class Part:
    """Epochs of one file.

    file: the file.
    data: float, (trials, channels, samples). The signal.
    labels: int, (trials,). Index of each trial's class.
    times: float, (samples,). Time of each sample, s.
    sfreq: sampling rate, Hz.
    channels: channel names.
    seen: number of trials of every event in the file, also of those that belong to no class.
    info: mapping of str to array, (trials, ...). Anything else known of each trial.
    unit: unit of the data.
    account: plain data: what was recorded, what was done, how many trials were left out, and why.
    positions: float, (channels, 3), optional
    onsets: mapping of str to array, optional. Of a continuous recording, samples at which there are events of
        each name.
    moments: int, (trials,), optional. Sample of each trial's event in the recording that it was cut from.
    """

    file: Path
    data: FloatArray
    labels: IntArray
    times: FloatArray
    sfreq: float
    channels: tuple[str, ...]
    seen: Mapping[str, int]
    info: Mapping[str, np.ndarray] = field(default_factory=dict)
    unit: str = "V"
    account: Mapping[str, Any] = field(default_factory=dict)
    positions: FloatArray | None = None
    onsets: Mapping[str, IntArray] = field(default_factory=dict)
    moments: IntArray | None = None


def join(parts: Sequence[Part], *, participant: str, phase: str, classes: Sequence[str]) -> Epochs:
    """Epochs of all files, in the order of the files."""
    first = parts[0]
    parts = [first, *(_in_order(part, first.channels) for part in parts[1:])]
    for part in parts[1:]:
        _check_agree(first, part, participant)
    parts = _without_copies(parts, classes, participant)
    _tell_of_parallel(parts, participant)
    first = parts[0]
    labels = np.concatenate([part.labels for part in parts]).astype(np.int64)
    missing = [name for index, name in enumerate(classes) if not (labels == index).any()]
    if missing:
        raise _without_trials(parts, missing, participant=participant, phase=phase, classes=classes)
    shared = [key for key in first.info if all(key in part.info for part in parts)]
    info = {key: np.concatenate([part.info[key] for part in parts]) for key in shared}
    info["file"] = np.repeat(np.arange(len(parts)), [len(part.labels) for part in parts])
    data = np.concatenate([part.data for part in parts]) if len(parts) > 1 else first.data
    return Epochs(
        data=data.astype(np.float64, copy=False),
        labels=labels,
        classes=tuple(classes),
        times=first.times,
        sfreq=first.sfreq,
        channels=first.channels,
        unit=first.unit,
        trial_info=info,
        accounts=tuple({"file": part.file.name, **part.account} for part in parts if part.account),
        positions=mean_positions([part.positions for part in parts]),
    )


def _without_trials(
    parts: Sequence[Part], missing: Sequence[str], *, participant: str, phase: str, classes: Sequence[str]
) -> InputError:
    """Say whether the events of classes are not there, or all their trials were left out, and why."""
    where = {"participant": participant, "file": ", ".join(str(part.file) for part in parts)}
    lost = left_out([part.account for part in parts], missing)
    if lost:
        return InputError(
            f"all trials of {', '.join(lost.classes)} in the {phase} phase were left out",
            **where,
            field=lost.field,
            found=lost.found,
            expected=f"trials of {', '.join(classes)}",
            hint=lost.hint,
        )
    seen = sum((Counter(part.seen) for part in parts), Counter[str]())
    return InputError(
        f"the {phase} phase has no trials of {', '.join(missing)}",
        **where,
        field="input.events",
        found=", ".join(f"{count} × {name}" for name, count in seen.most_common(20)) or "no events",
        expected=f"trials of {', '.join(classes)}",
        hint="name the events of each class under [input.events] in the study file",
    )


def _in_order(part: Part, channels: tuple[str, ...]) -> Part:
    """A part with its channels in the order of another, if these are the same."""
    if part.channels == channels or sorted(part.channels) != sorted({*channels}):
        return part
    order = [part.channels.index(name) for name in channels]
    types = part.account.get("types")
    return replace(
        part,
        channels=channels,
        data=part.data[:, order],
        positions=None if part.positions is None else part.positions[order],
        account=part.account if types is None else {**part.account, "types": [types[at] for at in order]},
    )


def _check_agree(first: Part, part: Part, participant: str) -> None:
    apart: tuple[str, object, object] | None = None
    if part.channels != first.channels:
        apart = "channels", ", ".join(part.channels), ", ".join(first.channels)
    elif not same_rate(part.sfreq, first.sfreq):
        apart = "sampling rate", f"{part.sfreq:g} Hz", f"{first.sfreq:g} Hz"
    elif not _same_times(part, first):
        spans = [f"{len(t)} samples, {t[0]:g} to {t[-1]:g} s" for t in (part.times, first.times)]
        apart = "times", spans[0], spans[1]
    if apart:
        differ = {*part.channels} ^ {*first.channels}
        bads = sorted({*part.account.get("bads", ()), *first.account.get("bads", ())})
        raise InputError(
            f"files of one phase differ in {apart[0]}",
            participant=participant,
            file=part.file,
            found=apart[1],
            expected=f"{apart[2]}, as in {first.file.name}",
            hint=f"leave out in all what is bad in one (input.preprocessing.bads.{key_of(participant)} = "
            f"{bads}), or interpolate it, which needs positions (input.preprocessing.interpolate = true)"
            if differ and differ <= {*bads}
            else "make the files alike, or leave one out",
        )


def _same_times(one: Part, other: Part) -> bool:
    """True if times are the same, or would be at one rate; those of a known device are at its own."""
    if len(one.times) != len(other.times):
        return False
    return any(
        np.allclose(one.times * scale, other.times, rtol=0, atol=0.25 / other.sfreq)
        for scale in (1.0, one.sfreq / other.sfreq)
    )


def _tell_of_parallel(parts: Sequence[Part], participant: str) -> None:
    """Warn of files whose trials begin together: two acquisitions of the same moments, or a filtered copy."""
    for one, other in itertools.combinations(parts, 2):
        a, b = _moments(one), _moments(other)
        fewer = min(len(a), len(b))
        if fewer < PARALLEL:
            continue
        same = (np.abs(np.subtract.outer(a, b)) < 1) & np.equal.outer(one.labels, other.labels)
        shared = int(same.any(axis=1).sum())
        if shared >= SHARED * fewer:
            warnings.warn(
                f"{participant}, {other.file.name}: {shared} of {fewer} trials begin when trials of the same "
                f"class begin in {one.file.name}: unless trials have fixed times, both files are of the same "
                "moments (two amplifiers, or one filtered), and a trial is in training and held-out trials "
                "alike; name one of the files",
                stacklevel=2,
            )
            return


def _moments(part: Part) -> np.ndarray:
    """When trials are, in samples; none if it is not known, as of epochs that are only counted."""
    if "onset" in part.info:
        return part.info["onset"] * part.sfreq
    moments = np.empty(0) if part.moments is None else part.moments
    return moments if len({*np.diff(moments)}) > 1 else np.empty(0)


def _without_copies(parts: Sequence[Part], classes: Sequence[str], participant: str) -> list[Part]:
    # A trial that is there twice would be in training and held-out trials alike.
    seen: dict[bytes, tuple[Part, int]] = {}
    kept = []
    for part, digests in zip(parts, trial_digests(*(part.data for part in parts)), strict=True):
        copies: dict[int, tuple[Part, int]] = {}
        for index, digest in enumerate(digests):
            first = (part, index) if digest is None else seen.setdefault(digest, (part, index))
            if first[0] is not part or first[1] != index:
                copies[index] = first
        kept.append(_fresh(part, copies, classes, participant) if copies else part)
    return kept


def _fresh(
    part: Part, copies: Mapping[int, tuple[Part, int]], classes: Sequence[str], participant: str
) -> Part:
    """A part without trials that are there already, each with where it is."""
    other = next((first for first, _ in copies.values() if first is not part), part)
    where = f"are also in {other.file.name}" if other is not part else "are there twice"
    number, (_, same) = next(iter(copies.items()))
    if any(first.labels[at] != part.labels[index] for index, (first, at) in copies.items()):
        raise InputError(
            "a trial is there twice under different classes"
            if other is part
            else "a trial is in two files under different classes",
            participant=participant,
            file=part.file,
            found=f"{len(copies)} trials that {where}",
            hint="save each trial once, with the class that it has"
            if other is part
            else "leave one of the files out",
        )
    cause = (
        " and were left out here"
        if other is not part
        else f", the first is trial {number + 1}, as trial {same + 1}, and were left out: exported or "
        "joined twice, or drawn with replacement to balance the classes"
    )
    warnings.warn(
        f"{participant}, {part.file.name}: {len(copies)} of {len(part.labels)} trials {where}{cause}",
        stacklevel=2,
    )
    fresh = np.setdiff1d(np.arange(len(part.labels)), list(copies))
    info = {key: values[fresh] for key, values in part.info.items()}
    moments = None if part.moments is None else part.moments[fresh]
    of = Counter(classes[part.labels[index]] for index in copies)
    left = [{"class": name, "reason": "there twice", "trials": count} for name, count in of.items()]
    account = {**part.account, "dropped": [*part.account.get("dropped", ()), *left]}
    kept = {"data": part.data[fresh], "labels": part.labels[fresh], "info": info, "moments": moments}
    return replace(part, **kept, account=account)
