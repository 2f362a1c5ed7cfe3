"""Epochs, bins and folds that fit recordings, for a first look at them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.features.bins import check_bins_fit
from shortloop.eeg.features.settings import AmplitudeSettings
from shortloop.eeg.formats.consistency import check_trials
from shortloop.eeg.formats.summary import RecordingSummary
from shortloop.errors import InputError

__all__ = ["Window", "epochs_of", "folds_for", "window_of"]

BEFORE, AFTER = -0.2, 0.8
"""Epochs of continuous recordings, s relative to their events."""
BIN = 0.04  # s
MOST_BINS = 30
SEARCHED = 2000  # epochs that are tried, in steps of a millisecond
CLOSE = 0.4  # samples that first ones may be apart
ENOUGH = 250.0  # samples per second, of a signal below 30 Hz
LOWPASS = 30.0
FOLDS = (DecodingSettings().folds, 5, 4, 3, 2)


@dataclass(frozen=True)
class Window:
    """Features of a study.

    Parameters
    ----------
    amplitude : AmplitudeSettings
        Features that fit.
    milliseconds : float
        Length of a bin.
    stop : float
        End of the last one, s.
    """

    amplitude: AmplitudeSettings
    milliseconds: float
    stop: float


def window_of(start: float, stop: float, rate: float) -> Window:
    """Amplitude features that fit epochs.

    Parameters
    ----------
    start, stop : float
        First and last time of the epochs, s.
    rate : float
        Samples per second.

    Returns
    -------
    Window

    Raises
    ------
    InputError
        If the epochs are shorter than two bins.
    """
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
    """Epochs of continuous recordings that are alike when they are resampled to the lowest rate.

    Parameters
    ----------
    rates : collection of float
        Samples per second.

    Returns
    -------
    start, stop : float
        First and last time, s.
    """
    lowest = min(rates)
    for tried in range(SEARCHED):
        start, stop = BEFORE - tried // 20 / 1000, AFTER - tried % 20 / 1000
        firsts = [round(start * rate) / rate for rate in rates]
        counts = [round(stop * rate) - round(start * rate) + 1 for rate in rates]
        resampled = {round(count * lowest / rate) for count, rate in zip(counts, rates, strict=True)}
        if len(resampled) == 1 and (max(firsts) - min(firsts)) * lowest < CLOSE:
            return start, stop
    return BEFORE, AFTER  # `shortloop study` says of whom it is too much


def folds_for(trials: Mapping[str, Mapping[str, int]], inner_folds: int | None) -> tuple[int, dict[str, str]]:
    """Folds that most participants have trials enough for.

    Parameters
    ----------
    trials : mapping
        Of each participant, how many trials there are of each class.
    inner_folds : int or None
        Within the training trials of a fold.

    Returns
    -------
    int
        As many as all have trials for; if some have too few for any, as many as the others have.
    dict of str to str
        Participants who have too few, and what is said of them.
    """
    lacking = {}
    for who, counts in trials.items():
        said = [_lacks({who: counts}, folds, inner_folds) for folds in FOLDS]
        if all(said):  # fewer folds leave fewer trials for the inner ones
            lacking[who] = said[1]
    others = {who: counts for who, counts in trials.items() if who not in lacking}
    return next((folds for folds in FOLDS if not _lacks(others, folds, inner_folds)), FOLDS[-1]), lacking


def _lacks(trials: Mapping[str, Mapping[str, int]], folds: int, inner_folds: int | None) -> str:
    try:
        check_trials(_summaries(trials), folds=folds, inner_folds=inner_folds)
    except InputError as error:
        return f"{error.found}, {error.expected}"
    return ""


def _summaries(trials: Mapping[str, Mapping[str, int]]) -> Iterable[RecordingSummary]:
    for who, counts in trials.items():
        yield RecordingSummary(who, "train", "epochs", "", dict(counts), (), 0.0, 0.0, 0, 0, 0)
