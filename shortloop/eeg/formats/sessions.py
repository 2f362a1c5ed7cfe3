"""Several files, one recording: what each file gives, joined after they are found to agree."""

from __future__ import annotations

import hashlib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from shortloop.eeg.data import Epochs
from shortloop.errors import InputError
from shortloop.types import FloatArray, IntArray

__all__ = ["Part", "join"]


@dataclass(frozen=True)
class Part:
    """Epochs of one file.

    Parameters
    ----------
    file : Path
        The file.
    data : array of float, shape (trials, channels, samples)
        The signal.
    labels : array of int, shape (trials,)
        Index of each trial's class.
    times : array of float, shape (samples,)
        Time of each sample, s.
    sfreq : float
        Sampling rate, Hz.
    channels : tuple of str
        Channel names.
    seen : mapping of str to int
        Number of trials of every event in the file, also of those that belong to no class.
    info : mapping of str to array, shape (trials, ...)
        Anything else known of each trial.
    unit : str, default "V"
        Unit of the data.
    account : mapping, optional
        Plain data: what was recorded, what was done, how many trials were left out, and why.
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


def join(parts: Sequence[Part], *, participant: str, phase: str, classes: Sequence[str]) -> Epochs:
    """Epochs of all files, in the order of the files.

    Parameters
    ----------
    parts : sequence of Part
        At least one.
    participant, phase : str
        Whose and of which phase, for messages.
    classes : sequence of str
        Classes of the study.

    Returns
    -------
    Epochs
        ``trial_info["file"]`` is the number of each trial's file, from 0.

    Raises
    ------
    InputError
        If files differ in channels, sampling rate or times, hold the same trial under different
        classes, or hold no trial of a class.

    Warns
    -----
    UserWarning
        If trials of a file are left out because the same samples are in an earlier file.
    """
    first = parts[0]
    for part in parts[1:]:
        _check_agree(first, part, participant)
    if len(parts) > 1:
        parts = _without_copies(parts, participant)
    labels = np.concatenate([part.labels for part in parts]).astype(np.int64)
    missing = [name for index, name in enumerate(classes) if not (labels == index).any()]
    if missing:
        seen = sum((Counter(part.seen) for part in parts), Counter[str]())
        raise InputError(
            f"the {phase} phase has no trials of {', '.join(missing)}",
            participant=participant,
            file=", ".join(str(part.file) for part in parts),
            field="input.events",
            found=", ".join(f"{count} × {name}" for name, count in seen.most_common(20)) or "no events",
            expected=f"trials of {', '.join(classes)}",
            hint="name the events of each class under [input.events] in the study file",
        )
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
    )


def _check_agree(first: Part, part: Part, participant: str) -> None:
    apart: tuple[str, object, object] | None = None
    if part.channels != first.channels:
        apart = "channels", ", ".join(part.channels), ", ".join(first.channels)
    elif not np.isclose(part.sfreq, first.sfreq, rtol=1e-6, atol=0):
        apart = "sampling rate", f"{part.sfreq:g} Hz", f"{first.sfreq:g} Hz"
    elif len(part.times) != len(first.times) or not np.allclose(
        part.times, first.times, rtol=0, atol=0.25 / first.sfreq
    ):
        spans = [f"{len(t)} samples, {t[0]:g} to {t[-1]:g} s" for t in (part.times, first.times)]
        apart = "times", spans[0], spans[1]
    if apart:
        raise InputError(
            f"files of one phase differ in {apart[0]}",
            participant=participant,
            file=part.file,
            found=apart[1],
            expected=f"{apart[2]}, as in {first.file.name}",
            hint="make the files alike, or leave one out",
        )


def _without_copies(parts: Sequence[Part], participant: str) -> list[Part]:
    # A trial that is in two files would be in training and held-out trials alike.
    seen: dict[bytes, tuple[Part, int]] = {}
    kept = []
    for part in parts:
        digests = [hashlib.sha256(np.ascontiguousarray(trial).tobytes()).digest() for trial in part.data]
        copies = [index for index, digest in enumerate(digests) if digest in seen]
        if copies:
            other = seen[digests[copies[0]]][0].file.name
            if any(seen[digests[index]][1] != part.labels[index] for index in copies):
                raise InputError(
                    "a trial is in two files under different classes",
                    participant=participant,
                    file=part.file,
                    found=f"{len(copies)} trials that are also in {other}",
                    hint="leave one of the files out",
                )
            warnings.warn(
                f"{participant}, {part.file.name}: {len(copies)} of {len(part.labels)} trials are also in "
                f"{other} and were left out here",
                stacklevel=2,
            )
        seen.update({digest: (part, int(label)) for digest, label in zip(digests, part.labels)})
        fresh = np.setdiff1d(np.arange(len(part.labels)), copies)
        info = {key: values[fresh] for key, values in part.info.items()}
        kept.append(replace(part, data=part.data[fresh], labels=part.labels[fresh], info=info))
    return kept
