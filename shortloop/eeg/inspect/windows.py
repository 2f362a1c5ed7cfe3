"""Epochs, bins and folds that fit recordings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from shortloop.base.errors import InputError
from shortloop.eeg.checks.consistency import check_trials
from shortloop.eeg.checks.summary import RecordingSummary
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.features.bins import check_bins_fit
from shortloop.eeg.features.settings import AmplitudeSettings

__all__ = ["Window", "epochs_of", "folds_for", "window_of"]

BEFORE, AFTER = -0.2, 0.8
"""Epochs of continuous recordings, s relative to their events."""
BIN = 0.04  # s
MOST_BINS = 30
SEARCHED = 2000  # epochs that are tried, in steps of 1 ms
CLOSE = 0.4  # largest difference of the first times, in samples
ENOUGH = 250.0  # Hz, for a signal below 30 Hz
LOWPASS = 30.0
FOLDS = (DecodingSettings().folds, 5, 4, 3, 2)


@dataclass(frozen=True)
class Window:
    """Settings of amplitude features that fit epochs."""

    amplitude: AmplitudeSettings
    milliseconds: float  # of a bin
    stop: float  # of the last bin, s


def window_of(start: float, stop: float, rate: float) -> Window:
    """Return amplitude features that fit epochs from `start` to `stop` (s) at `rate` (Hz)."""
    begin = max(start, BEFORE) if stop > 0 else start
    step = max(1, round(rate / ENOUGH))
    points = int((stop - begin) * rate / step + 1e-6) + 1
    width = max(BIN, (stop - begin) / MOST_BINS)
    size = max(1, round(width * rate / step))
    while size > 1 and points < 2 * size:
        size -= 1
    samples = round((stop - start) * rate) + 1
    order = AmplitudeSettings().order
    begin = start + round((begin - start) * rate) / rate
    baseline = (round(begin, 4), 0.0) if begin + 2 / rate < 0 <= stop else None
    amplitude = AmplitudeSettings(
        baseline=baseline,
        lowpass=LOWPASS if rate > 2 * LOWPASS and samples > 3 * (order + 1) else None,
        start=round(begin, 4),
        bins=max(1, points // size),
        bin_samples=size,
        step=step,
    )
    while True:  # rounding may cost the last bin
        try:
            check_bins_fit("amplitude", amplitude, tmin=start, sfreq=rate, samples=samples)
            break
        except InputError:
            if amplitude.bins == 1:
                raise
            amplitude = amplitude.model_copy(update={"bins": amplitude.bins - 1})
    length = size * step / rate
    return Window(amplitude, 1000 * length, amplitude.start + amplitude.bins * length)


def epochs_of(rates: Collection[float]) -> tuple[float, float]:
    """Return start and stop (s) of epochs that have equal lengths once resampled to the lowest rate."""
    lowest = min(rates)
    for tried in range(SEARCHED):
        start, stop = BEFORE - tried // 20 / 1000, AFTER - tried % 20 / 1000
        firsts = [round(start * rate) / rate for rate in rates]
        counts = [round(stop * rate) - round(start * rate) + 1 for rate in rates]
        resampled = {round(count * lowest / rate) for count, rate in zip(counts, rates, strict=True)}
        if len(resampled) == 1 and (max(firsts) - min(firsts)) * lowest < CLOSE:
            return start, stop
    return BEFORE, AFTER  # `shortloop study` names recordings that are too short


def folds_for(trials: Mapping[str, Mapping[str, int]], inner_folds: int | None) -> tuple[int, dict[str, str]]:
    """Return folds that most participants have trials for, and the others with the reason."""
    lacking = {}
    for who, counts in trials.items():
        reasons = [_lacks({who: counts}, folds, inner_folds) for folds in FOLDS]
        if all(reasons):  # fewer folds leave fewer trials for the inner ones
            lacking[who] = reasons[1]
    others = {who: counts for who, counts in trials.items() if who not in lacking}
    return next((folds for folds in FOLDS if not _lacks(others, folds, inner_folds)), FOLDS[-1]), lacking


def _lacks(trials: Mapping[str, Mapping[str, int]], folds: int, inner_folds: int | None) -> str:
    """Return what trials lack for these folds; empty if nothing."""
    summaries = (
        RecordingSummary(who, "train", "epochs", "", dict(counts), (), 0.0, 0.0, 0, 0, 0)
        for who, counts in trials.items()
    )
    try:
        check_trials(summaries, folds=folds, inner_folds=inner_folds)
    except InputError as error:
        return f"{error.found}, {error.expected}"
    return ""
