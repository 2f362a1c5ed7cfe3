"""Trials that are there twice: held out once and trained on once, they make an effect of noise."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from shortloop.errors import InputError
from shortloop.types import FloatArray

__all__ = [
    "feature_digests",
    "overlaps",
    "refuse_same_features",
    "refuse_shared",
    "tell_of_twins",
    "trial_digests",
]

Digests = Sequence[bytes | None]
TWINS = 0.05  # s; nothing is shown twice so fast, but codes bounce, and several devices mark one picture


def trial_digests(data: FloatArray) -> list[bytes | None]:
    """A hash of what each trial holds.

    Parameters
    ----------
    data : array, shape (trials, ...)
        The trials.

    Returns
    -------
    list of bytes or None
        None where a trial is one value everywhere, or not finite: that says nothing of where it is from.
    """

    def says_nothing(trial: FloatArray) -> bool:
        return bool((trial == trial.flat[0]).all() or not np.isfinite(trial).all())

    return [None if says_nothing(trial) else hashlib.sha256(trial.tobytes()).digest() for trial in data]


def refuse_shared(
    phases: Mapping[str, Digests], *, participant: str, files: Mapping[str, str], field: str
) -> None:
    """Refuse trials that are in two phases of a participant.

    Parameters
    ----------
    phases : mapping of str to sequence of (bytes or None)
        Digests of the trials of each phase, the training phase first.
    participant : str
        Whose they are, for messages.
    files : mapping of str to str
        Files of each phase, for messages.
    field : str
        Where the study file names them, for messages.

    Raises
    ------
    InputError
        If classifiers would be applied to trials that they were trained on.
    """
    (training, first), *others = phases.items()
    known = {digest: number for number, digest in enumerate(first, start=1) if digest is not None}
    for phase, digests in others:
        shared = [(number, known[each]) for number, each in enumerate(digests, start=1) if each in known]
        if not shared:
            continue
        number, other = shared[0]
        every = len(shared) == len(digests)
        raise InputError(
            f"trials of the {phase} phase are those of the {training} phase: classifiers would be applied to "
            "what they were trained on",
            participant=participant,
            file=files[phase] or None,
            field=f"{field}.{phase}",
            found=f"{len(shared)} of {len(digests)} trials have the same samples, the first is trial "
            f"{number}, as trial {other} of {training}"
            + (f" in {files[training]}" if files[training] else ""),
            expected="trials of its own",
            hint="the same file, or one that holds both phases, is named for both: "
            f"name the file of each phase; where it is one file, its events (input.phase_events) or sections "
            f"(input.sections); or leave out phases.decode to decode {training} by held-out trials"
            if every
            else "the files of the phases overlap: export each phase by itself",
        )


def overlaps(training: Mapping[str, FloatArray], decoded: Mapping[str, FloatArray], seconds: float) -> int:
    """Trials that share time with a trial that trains, in the same recording.

    Parameters
    ----------
    training, decoded : mapping of str to array of float
        Onsets of the trials of each recording, s.
    seconds : float
        Length of a trial.

    Returns
    -------
    int
        How many of those that are decoded.
    """
    return sum(
        int((np.abs(onsets[:, np.newaxis] - training[file]).min(axis=1) < seconds).sum())
        for file, onsets in decoded.items()
        if file in training and training[file].size
    )


def feature_digests(data: FloatArray) -> list[bytes | None]:
    """The same of ready-made features.

    Parameters
    ----------
    data : array, shape (bins, trials, features)
        The features.

    Returns
    -------
    list of (bytes or None)
        As of `trial_digests`, of the first, middle and last bin: in files of MATLAB, trials are scattered.
    """
    some = sorted({0, len(data) // 2, len(data) - 1})
    return trial_digests(np.moveaxis(data[some], 1, 0))


def refuse_same_features(data: FloatArray, *, participant: str, phase: str, file: str | None) -> None:
    """Refuse ready-made features in which a trial is there twice.

    Parameters
    ----------
    data : array, shape (bins, trials, features)
        The features.
    participant, phase : str
        Whose and of which phase, for messages.
    file : str or None
        What they were read from, for messages.

    Raises
    ------
    InputError
        If two trials have the same features.
    """
    seen: dict[bytes, int] = {}
    pairs = []
    for number, digest in enumerate(feature_digests(data), start=1):
        if digest is not None and (first := seen.setdefault(digest, number)) != number:
            pairs.append((first, number))
    if pairs:
        first, number = pairs[0]
        raise InputError(
            f"trials of the {phase} phase are there twice: one would be trained on, and the other held out",
            participant=participant,
            file=file,
            field="data",
            found=f"{len(pairs)} of {data.shape[1]} trials have the features of an earlier one, the first is "
            f"trial {number}, as trial {first}",
            expected="trials of their own",
            hint="they were exported or joined twice, or drawn with replacement to balance the classes: save "
            "each trial once",
        )


def tell_of_twins(events: np.ndarray, of: Sequence[int], rate: float) -> None:
    """Warn of trials that begin a moment after one of their class: held out, they were trained on.

    Parameters
    ----------
    events : array of int, shape (trials, 3)
        As MNE has them, the sample first.
    of : sequence of int
        Class of each.
    rate : float
        Samples per second.
    """
    samples, labels = events[:, 0], np.asarray(of)
    order = np.argsort(samples)
    near = np.diff(samples[order]) < TWINS * rate
    count = int((near & (np.diff(labels[order]) == 0)).sum())
    if count:
        warnings.warn(
            f"{count} of {len(events)} trials begin less than {TWINS * 1000:g} ms after another of their "
            "class, and share nearly all samples with it: one would be trained on, and the other held out; "
            "name one event for each trial (input.events)",
            stacklevel=2,
        )
