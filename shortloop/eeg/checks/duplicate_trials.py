"""Duplicate trials: held out once and trained on once, they make an effect of noise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from blake3 import blake3

from shortloop.base.errors import InputError, warn
from shortloop.base.types import FloatArray

Digests = Sequence[bytes | None]
MARKS = 8  # samples along each axis of a trial that are compared first
TWINS = 0.05  # s; no stimulus is repeated so fast, but codes bounce, and several devices mark one picture


def trial_digests(*parts: FloatArray) -> list[list[bytes | None]]:
    """Hash each trial that may equal another one; None for the others. Parts are (trials, ...)."""
    # Samples at some places of each axis tell most trials apart.
    some = [data[np.ix_(range(len(data)), *map(_some, data.shape[1:]))] for data in parts]
    marks = [[each.tobytes() for each in trials] for trials in some]
    known = Counter(mark for each in marks for mark in each)

    def digest(trial: FloatArray) -> bytes | None:
        says_nothing = (trial == trial.flat[0]).all() or not np.isfinite(trial).all()
        return None if says_nothing else blake3(trial.tobytes()).digest()

    return [
        [digest(trial) if known[mark] > 1 else None for trial, mark in zip(data, each, strict=True)]
        for data, each in zip(parts, marks, strict=True)
    ]


def _some(size: int) -> list[int]:
    """Choose places on an axis, with its ends."""
    return [*dict.fromkeys(np.linspace(0, size - 1, min(size, MARKS)).astype(int).tolist())]


def copies_of(digests: Iterable[bytes | None]) -> dict[int, int]:
    """Map the place of each copy to that of the first of its kind."""
    first: dict[bytes, int] = {}
    places = {at: first.setdefault(each, at) for at, each in enumerate(digests) if each is not None}
    return {at: original for at, original in places.items() if original != at}


def refuse_shared(
    phases: Mapping[str, Digests], *, participant: str, files: Mapping[str, str], field: str
) -> None:
    """Refuse trials in two phases of a participant."""
    (training, first), *others = phases.items()
    known = {digest: number for number, digest in enumerate(first, start=1) if digest is not None}
    for phase, digests in others:
        shared = [(number, known[each]) for number, each in enumerate(digests, start=1) if each in known]
        if not shared:
            continue
        number, other = shared[0]
        raise InputError(
            f"trials of the {phase} phase are those of the {training} phase: classifiers would be applied to "
            "what they were trained on",
            participant=participant,
            file=files[phase] or None,
            field=f"{field}.{phase}",
            found=f"{len(shared)} of {len(digests)} trials have the same samples, the first is trial "
            f"{number}, as trial {other} of {training}"
            + (f" in {files[training]}" if files[training] else ""),
            hint="a file that holds both phases is named for both, or files overlap: name a file of each "
            "phase; where it is one, its events (input.phase_events) or sections (input.sections); or leave "
            f"out phases.decode to decode {training} by held-out trials",
        )


def overlaps(training: Mapping[str, FloatArray], decoded: Mapping[str, FloatArray], seconds: float) -> int:
    """Count decoded trials that share time with a training trial; onsets (s) are by recording."""
    return sum(
        int((np.abs(onsets[:, np.newaxis] - training[file]).min(axis=1) < seconds).sum())
        for file, onsets in decoded.items()
        if file in training and training[file].size
    )


def feature_digests(*parts: FloatArray) -> list[list[bytes | None]]:
    """As `trial_digests`, of the first, middle and last bins of features (bins, trials, features)."""
    some = (data[sorted({0, len(data) // 2, len(data) - 1})] for data in parts)
    return trial_digests(*(np.moveaxis(bins, 1, 0) for bins in some))


def refuse_same_features(data: FloatArray, phase: str) -> None:
    """Refuse ready-made features (bins, trials, features) with duplicate trials."""
    if not (copies := copies_of(feature_digests(data)[0])):
        return
    at, first = next(iter(copies.items()))
    problem = f"trials of the {phase} phase are there twice: one would be trained on, and the other held out"
    places = f"the first is trial {at + 1}, as trial {first + 1}"
    found = f"{len(copies)} of {data.shape[1]} trials have the features of an earlier one, {places}"
    hint = "save each trial once: not joined twice, nor drawn with replacement to balance the classes"
    raise InputError(problem, field="data", found=found, hint=hint)


def warn_of_twins(events: np.ndarray, of: Sequence[int], rate: float) -> None:
    """Warn of trials that begin a moment after one of their class; `events` are as in MNE."""
    samples, labels = events[:, 0], np.asarray(of)
    order = np.argsort(samples)
    near = np.diff(samples[order]) < TWINS * rate
    if count := int((near & (np.diff(labels[order]) == 0)).sum()):
        warn(
            f"{count} of {len(events)} trials begin less than {TWINS * 1000:g} ms after another of their "
            "class, and share nearly all samples with it: one would be trained on, and the other held out; "
            "name one event for each trial (input.events)"
        )
