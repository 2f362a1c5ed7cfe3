"""What one recording must satisfy on its own, so that no later stage trips over it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.eeg.checks.quality import warn_of_quality
from shortloop.eeg.checks.same_trials import refuse_same_features
from shortloop.eeg.data import Epochs, Features

__all__ = ["check_epochs", "check_features"]

Files = Sequence[Path | str]


def check_epochs(epochs: Epochs, *, participant: str, phase: str, files: Files = ()) -> None:
    """Check one participant's epochs in one phase."""
    where = {"participant": participant, "file": _names(files)}
    data = np.asarray(epochs.data)
    wanted = (len(epochs.labels), len(epochs.channels), len(epochs.times))
    if data.shape != wanted:
        raise InputError(
            f"the arrays of the {phase} phase do not fit together",
            **where,
            field="data",
            found=f"shape {data.shape}",
            expected=f"{wanted[0]} labels × {wanted[1]} channel names × {wanted[2]} times",
            hint="save the file again with arrays that belong together",
        )
    _check_labels(epochs.labels, epochs.classes, phase, where)
    twice = _twice(epochs.channels)
    if twice or not epochs.channels:
        raise InputError(
            "two channels have the same name" if twice else "there are no channels",
            **where,
            field="channels",
            found=", ".join(twice) or "none",
            hint="give each channel its own name" if twice else "do not drop all channels",
        )
    _check_times(np.asarray(epochs.times), epochs.sfreq, where)
    finite = np.isfinite(data)
    if not finite.all():
        trial, channel = np.argwhere(~finite.all(axis=2))[0]
        raise _not_finite(
            int(finite.size - np.count_nonzero(finite)),
            finite.size,
            f"first in trial {trial + 1}, channel {epochs.channels[channel]}",
            phase,
            where,
        )
    warn_of_quality(epochs, participant=participant, phase=phase, file=where["file"])


def check_features(features: Features, *, participant: str, phase: str, file: Path | str = "") -> None:
    """Check one participant's features in one phase."""
    where = {"participant": participant, "file": _names([file] if str(file) else [])}
    wanted = (len(features.times), len(features.labels), len(features.names))
    if features.data.shape != wanted or 0 in (wanted[0], wanted[2]):
        raise InputError(
            f"the features of the {phase} phase do not fit together",
            **where,
            field="data",
            found=f"shape {features.data.shape}",
            expected=f"{wanted[0]} bins × {wanted[1]} labels × {wanted[2]} feature names, none of them 0",
            hint="save the file again with arrays that belong together",
        )
    _check_labels(features.labels, features.classes, phase, where)
    times = np.asarray(features.times)
    if not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError("times of the bins do not increase", **where, field="times", found=_span(times))
    for index, values in enumerate(features.data):
        finite = np.isfinite(values)
        if not finite.all():
            trial, name = np.argwhere(~finite)[0]
            raise _not_finite(
                int(finite.size - np.count_nonzero(finite)),
                finite.size,
                f"first in bin {index + 1}, trial {trial + 1}, feature {features.names[name]}",
                phase,
                where,
            )
    refuse_same_features(features.data, participant=participant, phase=phase, file=where["file"])


def _check_labels(labels: Any, classes: Sequence[str], phase: str, where: dict[str, Any]) -> None:
    labels = np.asarray(labels)
    if labels.size == 0:
        raise InputError(
            f"there are no trials in the {phase} phase", **where, hint="check the names of the events"
        )
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= len(classes):
        raise InputError(
            f"labels of the {phase} phase are not indices of classes",
            **where,
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
            **where,
            field="classes",
            found=", ".join(f"{count} {name}" for name, count in counts.items()),
            expected="trials of every class",
            hint="check the names of the classes and of their events in the study file",
        )


def _check_times(times: np.ndarray, sfreq: float, where: dict[str, Any]) -> None:
    if not (np.isfinite(sfreq) and sfreq > 0):
        raise InputError("the sampling rate is not a positive number", **where, field="sfreq", found=sfreq)
    if len(times) < 2 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise InputError(
            "times do not increase",
            **where,
            field="times",
            found=_span(times),
            expected="two samples or more, each later than the one before",
        )
    off = np.abs(times - times[0] - np.arange(len(times)) / sfreq).max() * sfreq
    if off > 0.25:
        raise InputError(
            "times do not match the sampling rate",
            **where,
            field="times",
            found=f"{_span(times)}, up to {off:.3g} samples off",
            expected=f"steps of {1 / sfreq:.6g} s ({sfreq:g} Hz)",
        )


def _not_finite(count: int, of: int, first: str, phase: str, where: dict[str, Any]) -> InputError:
    return InputError(
        f"values that are not finite numbers in the {phase} phase",
        **where,
        field="data",
        found=f"{count} of {of} values are NaN or infinite, {first}",
        expected="finite numbers",
        hint="repair or leave out these trials or channels",
    )


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _span(times: np.ndarray) -> str:
    return f"{len(times)} times from {times[0]:g} to {times[-1]:g}" if len(times) else "no times"


def _names(files: Files) -> str | None:
    return ", ".join(map(str, files)) or None
