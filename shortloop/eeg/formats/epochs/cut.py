"""Cut a recording that MNE has opened into epochs of the study's classes, and account for each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mne
import numpy as np

from shortloop.base.errors import InputError, warn
from shortloop.base.types import FloatArray
from shortloop.eeg.checks.duplicate_trials import warn_of_twins
from shortloop.eeg.checks.plausible import check_rate, nominal, same_rate
from shortloop.eeg.checks.recording import refuse_other_units, warn_of_codes
from shortloop.eeg.formats.epochs import preprocessing
from shortloop.eeg.formats.epochs.events import Found, events_within, find_events, labels_of, select_events
from shortloop.eeg.formats.epochs.gaps import prepare_pieces
from shortloop.eeg.formats.epochs.settings import EpochedInput
from shortloop.eeg.formats.recording_format import Part, kept_channels, refuse_unknown
from shortloop.eeg.formats.sessions import Log, dropped_trials, warn_of_dropped

TMIN, TMAX = -0.5, 1.5  # s, of continuous recordings
UNITS = {"mag": "T", "ref_meg": "T", "grad": "T/m", "csd": "V/m²"}  # of MNE; V for other types
HELMET, HEAD = 1, 4  # coordinate frames of FIFF
FRAMES = {"eeg": HEAD, "mag": HELMET, "grad": HELMET}
LITTLE = 0.1  # of an epoch
SOME = 20  # trials in which units and codes are checked


def part_of(
    settings: EpochedInput, signal: Any, file: Path, participant: str, classes: Sequence[str]
) -> Part:
    """Cut a Raw or Epochs of MNE; raise InputError if it lacks what the study names."""
    wanted = settings.class_of_event(classes)
    signal = select_events(signal, settings, file)
    continuous = isinstance(signal, mne.io.BaseRaw)
    rate = float(signal.info["sfreq"])
    recorded: dict[str, Any] = {
        "rate": rate,
        "channels_in_file": len(signal.ch_names),
        "seconds": float(signal.n_times / rate) if continuous else None,
    }
    seconds = recorded["seconds"] or float(signal.times[-1] - signal.times[0])
    believed = getattr(settings, "time_unit", None) is not None
    check_rate(rate, seconds, continuous=continuous, believed=believed)
    preprocessing.mark_channels(signal, settings.preprocessing, participant)
    channels = _channels(signal, settings)
    bads = list(signal.info["bads"])
    if continuous:
        prepare_pieces(signal)
        found = find_events(signal, settings, wanted, file)
        if settings.sections:
            phase = next(iter(settings.sections))
            found, recorded["sections"] = events_within(found, signal, settings.sections, phase)
    elif settings.sections:
        problem = "sections are of continuous recordings, and these are epochs"
        hint = "leave them out; phases that have events of their own are told apart by input.phase_events"
        raise InputError(problem, field="input.sections", hint=hint)
    else:
        names = {number: name for name, number in signal.event_id.items()}
        seen = Counter(names[number] for number in signal.events[:, 2])
        found = Found("epochs", signal.events, dict(signal.event_id), seen)
    labels = labels_of(found.ids, wanted, classes)
    events = found.events[np.isin(found.events[:, 2], list(labels))]  # of the classes
    some = _as_recorded(signal, events, channels)
    warn_of_codes(some, channels)
    by_name = _types(signal)
    types = [by_name[name] for name in channels]
    refuse_other_units(some, channels, types)
    odd = _prepare(signal, settings, channels)
    if continuous:
        epochs, log, of = _cut(signal, found, events, labels, settings)
        recorded["fits_until"] = _fits_until(signal, events, epochs)
    else:
        epochs, log, of = _cropped(signal, labels, settings)
    thresholds = {"reject": settings.preprocessing.reject, "flat": settings.preprocessing.flat}
    dropped, rejected_by = dropped_trials(epochs, log, of, thresholds)
    warn_of_dropped(dropped, of, recorded.get("fits_until"))
    if continuous:
        warn_of_twins(epochs.events, [labels[number] for number in epochs.events[:, 2]], rate)
    wanted_rate = settings.preprocessing.resample
    if wanted_rate is not None and not same_rate(wanted_rate, rate):
        epochs = _resampled(epochs, wanted_rate)
    numbers = epochs.events[:, 2]
    by_number = {number: name for name, number in found.ids.items()}
    info: dict[str, np.ndarray] = {"event": np.array([by_number[number] for number in numbers], dtype=str)}
    if continuous:
        info["onset"] = (epochs.events[:, 0] - signal.first_samp) / rate
    elif epochs.metadata is not None:
        info = {**_columns(epochs.metadata), **info}
    positions = positions_of(epochs, channels)
    units = {UNITS.get(each, "V") for each in types}
    none = np.empty((0, len(channels), len(epochs.times)))
    data = epochs.get_data(picks=channels) if len(epochs) else none
    preprocessing.refuse_spread(data, odd, participant)
    return Part(
        file=file,
        data=data,
        labels=np.array([labels[number] for number in numbers], dtype=np.int64),
        times=_nominal_times(epochs, rate),
        sfreq=float(epochs.info["sfreq"]),
        channels=tuple(channels),
        seen=found.seen,
        info=info,
        moments=epochs.events[:, 0],
        unit=units.pop() if len(units) == 1 else "a.u.",
        account={
            **recorded,
            "events_from": found.source,
            "events": dict(found.seen),
            "types": types,
            "bads": bads,
            "interpolated": bads if settings.preprocessing.interpolate else [],
            "highpass": float(epochs.info["highpass"]),
            "lowpass": float(epochs.info["lowpass"]),
            "trials": len(of),
            "dropped": [
                {"class": classes[label], "reason": reason, "trials": count}
                for (label, reason), count in sorted(dropped.items())
            ],
            "rejected_by": dict(rejected_by.most_common()),
            "positions": "" if positions is None else settings.preprocessing.montage or "file",
        },
        positions=positions,
        onsets={
            name: found.events[found.events[:, 2] == number, 0]
            for name, number in found.ids.items()
            if continuous
        },
    )


def _types(signal: Any) -> dict[str, str]:
    return dict(zip(signal.ch_names, signal.get_channel_types(), strict=True))


def _channels(signal: Any, settings: EpochedInput) -> list[str]:
    names, bads = signal.ch_names, signal.info["bads"]
    if settings.picks:
        types = _types(signal)
        expected = f"names among {', '.join(names)}, or types among {', '.join(sorted({*types.values()}))}"
        problem = "a channel to decode is not in the file"
        refuse_unknown(settings.picks, {*names, *types.values()}, problem, "input.picks", expected)
        chosen = [name for name in names if not {name, types[name]}.isdisjoint(settings.picks)]
        chosen.sort(key=lambda name: settings.picks.index(name if name in settings.picks else types[name]))
    else:
        chosen = [names[index] for index in mne.pick_types(signal.info, **preprocessing.SIGNALS)]
    if not settings.preprocessing.interpolate:
        chosen = [name for name in chosen if name not in bads]
    return kept_channels(chosen, settings.drop, known=names)


def _as_recorded(signal: Any, events: Any, channels: list[str]) -> Any:
    """Return a second of some trials, before any preprocessing."""
    if not isinstance(signal, mne.io.BaseRaw):
        return signal[:SOME].get_data(picks=channels)
    second = round(signal.info["sfreq"])
    starts = [at for at in events[:, 0] - signal.first_samp if 0 <= at <= signal.n_times - second][:SOME]
    found = [signal.get_data(picks=channels, start=int(at), stop=int(at) + second) for at in starts]
    return np.array(found) if found else np.empty((0, len(channels), second))


def _prepare(signal: Any, settings: EpochedInput, channels: list[str]) -> list[str]:
    """Preprocess, then pick channels that are needed; return those whose NaN values a reference spreads."""
    steps = settings.preprocessing
    reference = steps.reference if isinstance(steps.reference, tuple) else ()
    if dropped := [name for name in settings.drop if name not in reference]:
        signal.drop_channels(dropped)
    preprocessing.apply_filters(signal, steps, [*channels, *reference])
    odd = preprocessing.not_finite(signal, steps)
    preprocessing.apply_reference(signal, steps)
    types = _types(signal)
    others = {*steps.reject, *steps.flat} - {types[name] for name in channels}
    problem = "there are no channels of a type that trials are rejected by"
    expected = f"types among {', '.join(sorted({*types.values()}))}"
    refuse_unknown(sorted(others), types.values(), problem, "input.preprocessing.reject", expected)
    if signal.info["projs"]:
        signal.load_data().apply_proj()  # here, with all channels that they are made of, and only once
        with signal.info._unlock():  # noqa: SLF001  MNE has no other way to set these
            signal.info["projs"] = []
    signal.pick([name for name in signal.ch_names if name in channels or types[name] in others])
    return odd


def _cut(
    raw: Any, found: Found, events: Any, labels: dict[int, int], settings: EpochedInput
) -> tuple[Any, Log, list[int]]:
    """Return epochs around events of the classes, why some are missing, and the class of each event."""
    tmin = TMIN if settings.tmin is None else settings.tmin
    tmax = TMAX if settings.tmax is None else settings.tmax
    if tmax <= tmin:
        expected = f"later than input.tmin, {tmin} s"
        problem = "the epochs end before they begin"
        raise InputError(problem, field="input.tmax", found=f"{tmax} s", expected=expected)
    _check_baseline(settings, tmin, tmax, 1 / raw.info["sfreq"])
    if not len(events):
        return _none(raw, tmin, tmax), (), []
    events = _without_doubles(raw, events, found, labels)
    first, last = (_at_sample(each, raw.info["sfreq"]) for each in (tmin, tmax))
    epochs = mne.Epochs(
        raw,
        events,
        {name: number for name, number in found.ids.items() if number in labels},
        tmin=min(first, 0.0),  # no gap may lie between an event and its epoch either
        tmax=max(last, 0.0),
        baseline=settings.preprocessing.baseline,
        on_missing="ignore",
        on_outside="ignore",
        preload=True,
    )
    log = epochs.drop_log
    if first > 0 or last < 0:
        epochs = epochs.crop(first, last) if len(epochs) else _none(raw, tmin, tmax)
    return epochs, log, [labels[number] for number in events[:, 2]]


def _without_doubles(raw: Any, events: Any, found: Found, labels: dict[int, int]) -> Any:
    """Keep one event per sample: a trial may be marked twice, but not as two classes."""
    classes: dict[int, set[int]] = {}
    for sample, _, number in events.tolist():
        classes.setdefault(sample, set()).add(labels[number])
    if several := [sample for sample, of in classes.items() if len(of) > 1]:
        at = (several[0] - raw.first_samp) / raw.info["sfreq"]
        named = [name for name, code in found.ids.items() if code in events[events[:, 0] == several[0], 2]]
        problem = "events of different classes are at one sample"
        said = f"{' and '.join(named)} at {at:g} s, the first of {len(several)} such samples"
        hint = "name events that exclude each other (input.events), or take one of these out of the file"
        raise InputError(problem, field="input.events", found=said, hint=hint)
    if len(classes) < len(events):
        warn(
            f"{len(events) - len(classes)} of {len(events)} events are at the sample of another one of their "
            "class: each trial is counted once"
        )
    return events[np.sort(np.unique(events[:, 0], return_index=True)[1])]


def _fits_until(raw: Any, events: Any, epochs: Any) -> float | None:
    """Return the end of epochs, s, that makes all fit before gaps; None if it is far off, or all fit."""
    rate = raw.info["sfreq"]
    first, last = round(epochs.tmin * rate), round(epochs.tmax * rate)
    meets = [each["onset"] for each in raw.annotations if each["description"] == "BAD boundary"]
    starts = [0, *sorted(round((onset - raw.first_time) * rate) for onset in meets)]
    stops = np.array([*starts[1:], raw.n_times])
    at = events[:, 0] - raw.first_samp
    piece = np.searchsorted(stops, at, side="right").clip(max=len(stops) - 1)
    over = (at + last + 1 - stops[piece])[(at + first >= np.array(starts)[piece]) & (at < raw.n_times)]
    over = over[over > 0]
    return (last - int(over.max())) / rate if len(over) and over.max() <= LITTLE * (last - first) else None


def _at_sample(time: float, rate: float) -> float:
    """Round a time to its sample at the nominal rate, so that epochs of one device have one length."""
    usual = nominal(rate)
    return time if usual == rate else round(time * usual) / rate


def _nominal_times(epochs: Any, rate: float) -> Any:
    """Return times of samples at the nominal rate, so that bins have the same samples in all files."""
    usual, sfreq = nominal(rate), epochs.info["sfreq"]
    if usual == rate:
        return epochs.times
    step = 1 / (usual if sfreq == rate else sfreq)
    return round(epochs.times[0] * rate) / usual + step * np.arange(len(epochs.times))


def _none(raw: Any, tmin: float, tmax: float) -> Any:
    """Return empty epochs with the right times."""
    sfreq = raw.info["sfreq"]
    first, last = (round(_at_sample(each, sfreq) * sfreq) for each in (tmin, tmax))
    one = mne.EpochsArray(np.zeros((1, len(raw.ch_names), last - first + 1)), raw.info, tmin=first / sfreq)
    return one.drop([0])


def _resampled(epochs: Any, rate: float) -> Any:
    """Resample epochs, also empty ones, which MNE refuses."""
    if len(epochs):
        return epochs.resample(rate, n_jobs=1)
    shape = (1, len(epochs.ch_names), len(epochs.times))
    return mne.EpochsArray(np.zeros(shape), epochs.info, tmin=epochs.tmin).resample(rate, n_jobs=1).drop([0])


def _cropped(epochs: Any, labels: dict[int, int], settings: EpochedInput) -> tuple[Any, Log, list[int]]:
    """As `_cut`, of a file that holds epochs."""
    first, last = float(epochs.times[0]), float(epochs.times[-1])
    tmin = first if settings.tmin is None else settings.tmin
    tmax = last if settings.tmax is None else settings.tmax
    half = 0.5 / epochs.info["sfreq"]
    if tmin < first - half or tmax > last + half or tmax <= tmin:
        problem = "the epochs in the file are shorter"
        field = "input.tmin" if tmin < first - half else "input.tmax"
        found = f"{first:g} to {last:g} s"
        raise InputError(problem, field=field, found=found, expected=f"{tmin:g} to {tmax:g} s")
    _check_baseline(settings, first, last, 2 * half)
    epochs = epochs.load_data()[np.flatnonzero(np.isin(epochs.events[:, 2], list(labels)))]
    if settings.preprocessing.baseline is not None:
        epochs.apply_baseline(settings.preprocessing.baseline)
    if settings.tmin is not None or settings.tmax is not None:
        epochs.crop(tmin, tmax)
    return epochs, ((),) * len(epochs), [labels[number] for number in epochs.events[:, 2]]


def _check_baseline(settings: EpochedInput, tmin: float, tmax: float, step: float) -> None:
    baseline = settings.preprocessing.baseline
    if baseline is not None and (baseline[0] < tmin - step / 2 or baseline[1] > tmax + step / 2):
        problem = "the baseline is not in the epochs"
        field = "input.preprocessing.baseline"
        found = f"{baseline[0]:g} to {baseline[1]:g} s"
        expected = f"within {tmin:g} to {tmax:g} s"
        hint = "correct it, or let the epochs begin earlier (input.tmin)"
        raise InputError(problem, field=field, found=found, expected=expected, hint=hint)


def positions_of(signal: Any, channels: Sequence[str]) -> FloatArray | None:
    """Return positions of EEG channels and MEG sensors, (channels, 3) in m, NaN where unknown, or None."""
    found = np.full((len(channels), 3), np.nan)
    by_name = dict(zip(signal.ch_names, zip(signal.info["chs"], signal.get_channel_types(), strict=True)))
    for index, name in enumerate(channels):
        channel, kind = by_name[name]
        at = np.asarray(channel["loc"][:3], dtype=float)
        if channel["coord_frame"] == FRAMES.get(kind) and np.isfinite(at).all() and at.any():
            found[index] = at
    return found if np.isfinite(found).any() else None


def _columns(metadata: Any) -> dict[str, np.ndarray]:
    """Return columns as arrays that need no pickle: numbers as they are, anything else as text."""
    columns = {}
    for name in metadata.columns:
        values = metadata[name].to_numpy()
        columns[str(name)] = values if values.dtype.kind in "biuf" else values.astype(str)
    return columns
