"""Preprocessing of a recording: each step by MNE's own function, if the study asks for it.

Gramfort et al. 2013, Front. Neurosci. 7:267.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mne
import numpy as np

from shortloop.base.errors import InputError
from shortloop.base.text import short_list
from shortloop.eeg.checks.participants import key_of
from shortloop.eeg.formats.epochs.settings import Preprocessing
from shortloop.eeg.formats.recording_format import refuse_unknown

SKIPPED = "bad_acq_skip"  # prefix of annotations of stretches that MNE's filters skip
NAMED = 8  # channels in a message
SIGNALS = {"meg": True, "eeg": True, "seeg": True, "ecog": True, "dbs": True, "exclude": ()}
"""Arguments of `mne.pick_types` for all channels that can be decoded."""


def mark_channels(signal: Any, settings: Preprocessing, participant: str) -> None:
    """Give channels their positions, and mark bad ones."""
    if settings.montage is not None:
        try:
            montage = mne.channels.make_standard_montage(settings.montage)
        except ValueError:
            where = "input.preprocessing.montage"
            found = settings.montage
            expected = ", ".join(mne.channels.get_builtin_montages())
            raise InputError("unknown montage", field=where, found=found, expected=expected) from None
        signal.set_montage(montage, match_case=False, on_missing="ignore")
    bads = settings.bads.get(participant, ())
    field = f"input.preprocessing.bads.{key_of(participant)}"
    refuse_unknown(bads, signal.ch_names, "a bad channel is not in the file", field)
    signal.info["bads"] = list(dict.fromkeys([*signal.info["bads"], *bads]))


def apply_filters(signal: Any, settings: Preprocessing, channels: Sequence[str]) -> None:
    """Filter a recording; refuse edges above half the sampling rate."""
    nyquist = signal.info["sfreq"] / 2
    notches = [*np.ravel([] if settings.notch is None else settings.notch)]
    edges = {"highpass": settings.highpass, "lowpass": settings.lowpass, "notch": max(notches, default=None)}
    for field, value in edges.items():
        if value is not None and value >= nyquist:
            problem = "a filter is above half the sampling rate"
            found = f"{value:g} Hz"
            expected = f"less than {nyquist:g} Hz"
            raise InputError(problem, field=f"input.preprocessing.{field}", found=found, expected=expected)
    band = settings.highpass is not None or settings.lowpass is not None
    if (band or notches) and isinstance(signal, mne.io.BaseRaw):
        _check_finite(signal, channels)
    if band:
        signal.load_data().filter(settings.highpass, settings.lowpass, n_jobs=1)
    if notches:
        if isinstance(signal, mne.io.BaseRaw):
            signal.load_data().notch_filter(notches, n_jobs=1)
        else:
            picks, notch = mne.pick_types(signal.info, **SIGNALS), mne.filter.notch_filter
            how = {"Fs": signal.info["sfreq"], "freqs": notches}
            signal.load_data().apply_function(notch, picks=picks, channel_wise=False, **how)


def _check_finite(raw: Any, channels: Sequence[str]) -> None:
    """Check whole channels, not only trials: filters spread NaN and infinite values into trials."""
    raw.load_data()
    counts = np.ones(raw.n_times, dtype=bool)
    for each in raw.annotations:
        if str(each["description"]).lower().startswith(SKIPPED):  # where MNE's filters end
            start = (each["onset"] - raw.first_time) * raw.info["sfreq"]
            counts[max(0, round(start)) : round(start + each["duration"] * raw.info["sfreq"]) + 1] = False
    wrong: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(channels):
        odd = np.logical_not(np.isfinite(raw.get_data(picks=[name])[0])) & counts
        if odd.any():
            wrong[name] = np.flatnonzero(odd)
    if not wrong:
        return
    samples = np.unique(np.concatenate([*wrong.values()]))
    raise InputError(
        "the recording has values that are not finite numbers, and a filter would spread them",
        field="input.preprocessing",
        found=f"{len(samples)} samples that are NaN or infinite, the first at "
        f"{samples[0] / raw.info['sfreq']:g} s, in {short_list([*wrong], NAMED)}",
        hint="annotate gaps as BAD_ACQ_SKIP, with their duration, where the events are: filters end there, "
        "and no trial is within; drop channels that have more (input.drop)",
    )


def apply_reference(signal: Any, settings: Preprocessing) -> None:
    """Interpolate bad channels, and give the EEG a new reference."""
    if settings.interpolate and signal.info["bads"]:
        picks = mne.pick_types(signal.info, eeg=True, meg=True, exclude=())
        lost = [
            signal.ch_names[index]
            for index in picks
            if not np.any(np.nan_to_num(signal.info["chs"][index]["loc"][:3]))
        ]
        if lost:
            problem = "channels without a position cannot be interpolated, nor others from them"
            field = "input.preprocessing.interpolate"
            hint = "name a montage that has them (input.preprocessing.montage), or drop them (input.drop)"
            raise InputError(problem, field=field, found=", ".join(lost), hint=hint)
        signal.load_data().interpolate_bads(reset_bads=True)
    if settings.reference is not None:
        names = settings.reference if isinstance(settings.reference, tuple) else ()
        unknown = [name for name in names if name not in signal.ch_names or name in signal.info["bads"]]
        if unknown or not settings.reference:
            problem = (
                "a channel of the reference is not in the file, or bad" if names else "no reference is named"
            )
            field, found = "input.preprocessing.reference", ", ".join(unknown) or "no names"
            expected = f"'average', or names among {', '.join(signal.ch_names)}"
            raise InputError(problem, field=field, found=found, expected=expected)
        signal.load_data().set_eeg_reference([*names] or "average", projection=False)


def not_finite(signal: Any, settings: Preprocessing) -> list[str]:
    """Find channels that a reference would spread to others: those with NaN or infinite values."""
    if settings.reference is None:
        return []
    data = signal.load_data().get_data()
    return [
        name for name, each in zip(signal.ch_names, np.moveaxis(data, -2, 0)) if not np.isfinite(each).all()
    ]


def refuse_spread(data: Any, odd: Sequence[str], participant: str) -> None:
    """Refuse trials that a new reference filled with NaN; `odd` are the channels that had it."""
    if not odd or np.isfinite(data).all():
        return
    problem = "a channel has values that are not finite numbers, and the reference spreads them"
    found = f"NaN or infinite values in {short_list(odd, NAMED)}"
    bads = f"input.preprocessing.bads.{key_of(participant)}"
    hint = f"leave out (input.drop = {list(odd)[:NAMED]}), or mark as bad ({bads})"
    raise InputError(problem, field="input.preprocessing.reference", found=found, hint=hint)
