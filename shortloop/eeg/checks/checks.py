"""Checks of one recording that later stages rely on.

Who calls them adds participant and file to an `InputError` (`located` in `formats/files/process.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.eeg.checks.quality import warn_of_quality
from shortloop.eeg.checks.same_trials import refuse_same_features
from shortloop.eeg.data import Epochs, Features


def check_epochs(epochs: Epochs, *, participant: str, phase: str) -> None:
    """Check one participant's epochs in one phase."""
    data = np.asarray(epochs.data)
    wanted = (len(epochs.labels), len(epochs.channels), len(epochs.times))
    if data.shape != wanted:
        raise InputError(
            f"the arrays of the {phase} phase do not fit together",
            field="data",
            found=f"shape {data.shape}",
            expected=f"{wanted[0]} labels × {wanted[1]} channel names × {wanted[2]} times",
            hint="save the file again with arrays that belong together",
        )
    _check_labels(epochs.labels, epochs.classes, phase)
    twice = [name for name, count in Counter(epochs.channels).items() if count > 1]
    if twice or not epochs.channels:
        raise InputError(
            "two channels have the same name" if twice else "there are no channels",
            field="channels",
            found=", ".join(twice) or "none",
            hint="give each channel its own name" if twice else "do not drop all channels",
        )
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
        raise InputError(
            f"the features of the {phase} phase do not fit together",
            field="data",
            found=f"shape {features.data.shape}",
            expected=f"{wanted[0]} bins × {wanted[1]} labels × {wanted[2]} feature names, none of them 0",
            hint="save the file again with arrays that belong together",
        )
    _check_labels(features.labels, features.classes, phase)
    times = np.asarray(features.times)
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError("times of the bins do not increase", field="times", found=_span(times))
    for index, values in enumerate(features.data):
        finite = np.isfinite(values)
        if not finite.all():
            trial, name = np.argwhere(~finite)[0]
            raise _not_finite(
                finite, f"first in bin {index + 1}, trial {trial + 1}, feature {features.names[name]}", phase
            )
    refuse_same_features(features.data, phase)


def _check_labels(labels: Any, classes: Sequence[str], phase: str) -> None:
    labels = np.asarray(labels)
    if labels.size == 0:
        raise InputError(f"there are no trials in the {phase} phase", hint="check the names of the events")
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= len(classes):
        raise InputError(
            f"labels of the {phase} phase are not indices of classes",
            field="labels",
            found=f"{labels.dtype} from {labels.min()} to {labels.max()}",
            expected=f"integers from 0 to {len(classes) - 1}",
        )
    counts = dict(zip(classes, np.bincount(labels, minlength=len(classes)).tolist()))
    if 0 in counts.values():
        missing = ", ".join(name for name, count in counts.items() if not count)
        only = sum(count > 0 for count in counts.values()) == 1
        raise InputError(
            f"the {phase} phase has trials of one class only"
            if only
            else f"the {phase} phase has no trials of {missing}",
            field="classes",
            found=", ".join(f"{count} {name}" for name, count in counts.items()),
            expected="trials of every class",
            hint="check the names of the classes and of their events in the study file",
        )


def _check_times(times: np.ndarray, sfreq: float) -> None:
    if not (np.isfinite(sfreq) and sfreq > 0):
        raise InputError("the sampling rate is not a positive number", field="sfreq", found=sfreq)
    if len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError(
            "times do not increase",
            field="times",
            found=_span(times),
            expected="two samples or more, each later than the one before",
        )
    off = np.abs(times - times[0] - np.arange(len(times)) / sfreq).max() * sfreq
    if off > 0.25:
        raise InputError(
            "times do not match the sampling rate",
            field="times",
            found=f"{_span(times)}, up to {off:.3g} samples off",
            expected=f"steps of {1 / sfreq:.6g} s ({sfreq:g} Hz)",
        )


def _not_finite(finite: np.ndarray, first: str, phase: str) -> InputError:
    count = finite.size - np.count_nonzero(finite)
    return InputError(
        f"values that are not finite numbers in the {phase} phase",
        field="data",
        found=f"{count} of {finite.size} values are NaN or infinite, {first}",
        expected="finite numbers",
        hint="repair or leave out these trials or channels",
    )


def _span(times: np.ndarray) -> str:
    return f"{len(times)} times from {times[0]:g} to {times[-1]:g}" if len(times) else "no times"
