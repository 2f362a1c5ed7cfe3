"""Time bins: the samples of each, checked against the epochs, and features of every trial in them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.data import Epochs, Features
from shortloop.eeg.features.settings import AmplitudeSettings, PowerSettings

OneTrial = Callable[[FloatArray], FloatArray]
"""Features (bins, features) of the signal (channels, samples) of a trial."""

# Times come from files as rounded numbers: how far off, in samples, still counts as the same time.
SLACK = 1e-3


def bin_samples(
    times: FloatArray,
    *,
    start: float,
    bins: int,
    size: int,
    step: int = 1,
    field: str = "features",
    unit: str = "samples",
) -> IntArray:
    """Indices (bins, size) of the samples of each bin, from evenly spaced times in seconds."""
    # The first index is the sample nearest to `start` (the earlier of two that are equally near); the bins
    # follow each other without gap or overlap.
    if len(times) == 0:
        raise InputError("epochs without samples", field=field)
    covered = f"epochs from {times[0]:.4g} to {times[-1]:.4g} s ({len(times)} {unit})"
    spacing = (times[-1] - times[0]) / max(len(times) - 1, 1)
    reach = (0.5 + SLACK) * spacing
    if not times[0] - reach <= start <= times[-1] + reach:
        problem = "the first bin starts outside the epochs"
        expected = f"epochs that contain {start:g} s"
        hint = "move the start into the epochs, or cut longer epochs"
        raise InputError(problem, field=f"{field}.start", found=covered, expected=expected, hint=hint)
    first = int(np.argmin(np.abs(times - start)))
    if (last := first + (bins * size - 1) * step) >= len(times):
        fit = ((len(times) - 1 - first) // step + 1) // size
        wrong = "epochs too short for the bins"
        wanted = (
            f"epochs up to {times[0] + last * spacing:.4g} s: {bins} bins of {size} {unit}, "
            f"every {step}, from {times[first]:.4g} s"
        )
        advice = f"at most {fit} bins fit: take fewer or smaller bins, start earlier, or cut longer epochs"
        raise InputError(wrong, field=f"{field}.bins", found=covered, expected=wanted, hint=advice)
    return np.arange(first, last + 1, step).reshape(bins, size)


def features_per_trial(
    epochs: Epochs,
    indices: IntArray,
    names: tuple[str, ...],
    one_trial: OneTrial,
    *,
    kind: str,
    unit: str,
    trials: slice | None = None,
    out: FloatArray | None = None,
) -> Features:
    """Compute the features of one trial at a time, so that the trials can be divided in any way."""
    # indices: int, (bins, size), samples of each bin
    # out: (bins, selected trials, features); default: a new C-contiguous float32 array
    chosen = range(*(trials or slice(None)).indices(len(epochs.labels)))
    shape = (len(indices), len(chosen), len(names))
    if out is None:
        out = np.empty(shape, dtype=np.float32)
    elif out.shape != shape:
        raise ValueError(f"out has shape {out.shape}, the features need {shape}")
    for column, trial in enumerate(chosen):
        out[:, column] = one_trial(np.asarray(epochs.data[trial], dtype=np.float64))
    labels = np.asarray(epochs.labels)[trials or slice(None)]
    classes = epochs.classes
    times = np.asarray(epochs.times, dtype=np.float64)[indices].mean(axis=1)
    return Features(data=out, labels=labels, classes=classes, times=times, names=names, kind=kind, unit=unit)


def baseline_samples(times: FloatArray, baseline: tuple[float, float]) -> slice:
    """Samples of the baseline interval, both ends included, from evenly spaced times in seconds."""
    spacing = (times[-1] - times[0]) / max(len(times) - 1, 1)
    inside = (times >= baseline[0] - SLACK * spacing) & (times <= baseline[1] + SLACK * spacing)
    found = np.flatnonzero(inside)
    return slice(int(found[0]), int(found[-1]) + 1) if len(found) else slice(0, 0)


def epoch_bins(
    kind: str, settings: AmplitudeSettings | PowerSettings, epochs: Epochs, participant: str | None
) -> IntArray:
    """Indices (bins, size) of the samples of each bin of epochs, which must serve the settings."""
    times = epochs.times
    tmin = float(times[0]) if len(times) else 0.0
    check_bins_fit(kind, settings, tmin=tmin, sfreq=epochs.sfreq, samples=len(times), participant=participant)
    return _bins_of(f"features.{kind}", settings, times)


def check_bins_fit(
    kind: str,
    settings: AmplitudeSettings | PowerSettings,
    *,
    tmin: float,
    sfreq: float,
    samples: int,
    participant: str | None = None,
    file: str | None = None,
) -> None:
    """Raise InputError if epochs cannot serve the bins, baseline, filter, frequencies or wavelets."""
    times = tmin + np.arange(samples) / sfreq
    field = f"features.{kind}"
    try:
        _bins_of(field, settings, times)
        if isinstance(settings, AmplitudeSettings):
            _check_amplitude(field, settings, times, sfreq)
        else:
            _check_power(field, settings, times, sfreq)
    except InputError as error:
        error.where["participant"], error.file = participant, file
        error.args = (error.message,)
        raise


def _bins_of(field: str, settings: AmplitudeSettings | PowerSettings, times: FloatArray) -> IntArray:
    start, bins = settings.start, settings.bins
    if isinstance(settings, AmplitudeSettings):
        size, step = settings.bin_samples, settings.step
        return bin_samples(times, start=start, bins=bins, size=size, step=step, field=field)
    every, size = settings.every, settings.bin_points
    unit = f"points, one every {every} samples"
    return every * bin_samples(times[::every], start=start, bins=bins, size=size, field=field, unit=unit)


def _check_amplitude(field: str, settings: AmplitudeSettings, times: FloatArray, sfreq: float) -> None:
    if settings.lowpass is not None:
        _check_frequency(f"{field}.lowpass", "low-pass", settings.lowpass, sfreq)
        # The two-pass filter extends the epoch by this many of its own samples at each end.
        needed = 3 * (settings.order + 1) + 1
        if len(times) < needed:
            problem = "epochs too short for the low-pass filter"
            found = f"{len(times)} samples"
            expected = f"at least {needed} samples for order {settings.order}"
            hint = "cut longer epochs, lower the order, or set lowpass = false"
            raise InputError(problem, field=f"{field}.lowpass", found=found, expected=expected, hint=hint)
    if settings.baseline is not None:
        start, end = settings.baseline
        one = 1 / sfreq  # epochs are cut at whole samples, so an end may fall short by less than one
        inside = start >= times[0] - one and end <= times[-1] + one
        chosen = baseline_samples(times, settings.baseline)
        if not inside or chosen.start == chosen.stop:
            raise InputError(
                "baseline interval outside the epochs" if not inside else "baseline interval without samples",
                field=f"{field}.baseline",
                found=f"epochs from {times[0]:.4g} to {times[-1]:.4g} s",
                expected=f"epochs with samples in the whole interval from {start:g} to {end:g} s",
                hint="choose an interval within the epochs, or set baseline = false",
            )


def _check_power(field: str, settings: PowerSettings, times: FloatArray, sfreq: float) -> None:
    _check_frequency(f"{field}.fmax", "highest frequency", settings.fmax, sfreq)
    from mne.time_frequency import morlet

    if (longest := len(morlet(sfreq, settings.fmin, n_cycles=settings.cycles))) > len(times):
        problem = "wavelets longer than the epochs"
        found = f"epochs of {len(times)} samples"
        expected = f"at least {longest} samples for {settings.cycles:g} cycles at {settings.fmin:g} Hz"
        hint = "raise fmin, take fewer cycles, or cut longer epochs"
        raise InputError(problem, field=f"{field}.fmin", found=found, expected=expected, hint=hint)


def _check_frequency(field: str, name: str, frequency: float, sfreq: float) -> None:
    if frequency >= sfreq / 2:
        problem = f"{name} not below half the sampling rate"
        found = f"{frequency:g} Hz at a sampling rate of {sfreq:g} Hz"
        hint = "lower it, or use recordings of a higher sampling rate"
        raise InputError(problem, field=field, found=found, expected=f"below {sfreq / 2:g} Hz", hint=hint)
