"""What is done to a recording before it is decoded, each step by MNE's own function (Gramfort et al. 2013,
Front. Neurosci. 7:267) and only if it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from shortloop.base.errors import InputError
from shortloop.eeg.checks.participants import Participant, key_of
from shortloop.eeg.checks.plausible import in_seconds
from shortloop.eeg.formats.base import Patterns
from shortloop.settings.base import Settings

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Preprocessing", "filtered", "marked", "not_finite", "referenced", "refuse_spread"]

MOST = 0.1  # V, T or T/m
SKIPPED = "bad_acq_skip"  # how annotations of stretches begin that MNE's filters leave out
NAMED = 8  # channels, at most
Band = float | tuple[float, ...]
THRESHOLDS = "of each type of channel, in V (T for mag, T/m for grad), e.g."


class Preprocessing(Settings):
    """Steps between a recording and its epochs, in the order in which they are taken.

    Continuous recordings are filtered before they are cut, epochs as they are. Filters are MNE's default:
    FIR, of zero phase, with a Hamming window and automatic widths.
    """

    montage: str | None = Field(
        None,
        description="MNE's name for positions of channels by their names, e.g. 'easycap-M1'; default: the "
        "positions in the file",
    )
    bads: dict[Participant, Patterns] = Field(
        default_factory=dict,
        description="bad channels of each participant, besides those that a file marks; default: none",
    )
    highpass: float | None = Field(
        None, gt=0, description="lower edge of the pass band, Hz; default: no filter"
    )
    lowpass: float | None = Field(
        None, gt=0, description="upper edge of the pass band, Hz; default: no filter"
    )
    notch: Band | None = Field(
        None, description="frequencies to take out, Hz, e.g. 50 or [50, 100]; default: none"
    )
    interpolate: bool = Field(
        False,
        description="whether bad channels are interpolated from the others, which needs positions, by "
        "spherical splines, or left out; default false",
    )
    reference: Literal["average"] | Patterns | None = Field(
        None,
        description="new reference of the EEG: 'average', or names of channels whose mean it is; default: as "
        "recorded",
    )
    baseline: tuple[float, float] | None = Field(
        None,
        description="interval whose mean is subtracted from each epoch, s relative to the event; "
        "default: none",
    )
    reject: dict[str, float] = Field(
        default_factory=dict,
        description=f"largest peak-to-peak amplitude that a trial may have {THRESHOLDS} {{ eeg = 150e-6 }}; "
        "default: any",
    )
    flat: dict[str, float] = Field(
        default_factory=dict,
        description=f"smallest peak-to-peak amplitude that a trial must have {THRESHOLDS} {{ eeg = 1e-6 }}; "
        "default: any",
    )
    resample: float | None = Field(
        None,
        gt=0,
        description="new sampling rate, Hz, of epochs after they are cut, by the FFT; default: as recorded",
    )

    _in_seconds = field_validator("baseline")(in_seconds)

    @model_validator(mode="after")
    def _consistent(self) -> Preprocessing:
        if self.highpass is not None and self.lowpass is not None and self.highpass >= self.lowpass:
            raise ValueError(f"highpass: {self.highpass:g} Hz is not below the lowpass, {self.lowpass:g} Hz")
        if self.baseline is not None and self.baseline[0] > self.baseline[1]:
            raise ValueError("baseline: it ends before it begins")
        for field in ("reject", "flat"):
            for kind, value in getattr(self, field).items():
                if value <= 0:
                    raise ValueError(f"{field}.{kind}: {value:g} is not above 0")
                if value > MOST:
                    hint = f"for {value:g} µV, write {value:g}e-6"
                    raise ValueError(f"{field}.{kind}: {value:g} V is more than any brain gives; {hint}")
        return self

    def of(self, participant: str) -> Preprocessing:
        """The same, without bad channels of others."""
        bads = {name: bads for name, bads in self.bads.items() if name == participant}
        return self.model_copy(update={"bads": bads})


def marked(signal: Any, settings: Preprocessing, file: Path, participant: str) -> None:
    """Give channels their positions, and mark bad ones."""
    import mne

    if settings.montage is not None:
        try:
            montage = mne.channels.make_standard_montage(settings.montage)
        except ValueError:
            raise InputError(
                "unknown montage",
                field="input.preprocessing.montage",
                found=settings.montage,
                expected=", ".join(mne.channels.get_builtin_montages()),
            ) from None
        signal.set_montage(montage, match_case=False, on_missing="ignore")
    bads = settings.bads.get(participant, ())
    unknown = [name for name in bads if name not in signal.ch_names]
    if unknown:
        raise InputError(
            "a bad channel is not in the file",
            participant=participant,
            file=file,
            field=f"input.preprocessing.bads.{key_of(participant)}",
            found=", ".join(unknown),
            expected=f"names among {', '.join(signal.ch_names)}",
        )
    signal.info["bads"] = list(dict.fromkeys([*signal.info["bads"], *bads]))


def filtered(
    signal: Any, settings: Preprocessing, channels: Sequence[str], file: Path, participant: str
) -> None:
    """Filter a recording, if that is asked for."""
    import mne

    nyquist = signal.info["sfreq"] / 2
    notches = _notches(settings.notch)
    for field, value in (
        ("highpass", settings.highpass),
        ("lowpass", settings.lowpass),
        ("notch", max(notches or [0])),
    ):
        if value is not None and value >= nyquist:
            raise InputError(
                "a filter is above half the sampling rate",
                field=f"input.preprocessing.{field}",
                found=f"{value:g} Hz",
                expected=f"less than {nyquist:g} Hz",
            )
    band = settings.highpass is not None or settings.lowpass is not None
    if (band or notches) and isinstance(signal, mne.io.BaseRaw):
        _check_finite(signal, channels, file, participant)
    if band:
        signal.load_data().filter(settings.highpass, settings.lowpass, n_jobs=1)
    if notches:
        if isinstance(signal, mne.io.BaseRaw):
            signal.load_data().notch_filter(notches, n_jobs=1)
        else:
            picks = mne.pick_types(
                signal.info, meg=True, eeg=True, seeg=True, ecog=True, dbs=True, exclude=()
            )
            signal.load_data().apply_function(
                mne.filter.notch_filter,
                picks=picks,
                channel_wise=False,
                Fs=signal.info["sfreq"],
                freqs=notches,
            )


def _check_finite(raw: Any, channels: Sequence[str], file: Path, participant: str) -> None:
    """Check whole channels, not trials alone: filters carry what is not finite into trials around it."""
    import numpy as np

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
    few = f"{', '.join([*wrong][:NAMED])}{f' and {len(wrong) - NAMED} more' * (len(wrong) > NAMED)}"
    raise InputError(
        "the recording has values that are not finite numbers, and a filter would spread them",
        participant=participant,
        file=file,
        field="input.preprocessing",
        found=f"{len(samples)} samples that are NaN or infinite, the first at "
        f"{samples[0] / raw.info['sfreq']:g} s, in {few}",
        expected="finite numbers in all of the recording, not in the trials alone",
        hint="annotate gaps as BAD_ACQ_SKIP, with their duration, where the events are: filters end there, "
        "and no trial is within; drop channels that have more (input.drop)",
    )


def referenced(signal: Any, settings: Preprocessing, file: Path, participant: str) -> None:
    """Interpolate bad channels and give the EEG a new reference, if that is asked for."""
    import mne
    import numpy as np

    if settings.interpolate and signal.info["bads"]:
        picks = mne.pick_types(signal.info, eeg=True, meg=True, exclude=())
        lost = [
            signal.ch_names[index]
            for index in picks
            if not np.any(np.nan_to_num(signal.info["chs"][index]["loc"][:3]))
        ]
        if lost:
            raise InputError(
                "channels without a position cannot be interpolated, nor others from them",
                participant=participant,
                file=file,
                field="input.preprocessing.interpolate",
                found=", ".join(lost),
                hint="name a montage that has them (input.preprocessing.montage), or drop them (input.drop)",
            )
        signal.load_data().interpolate_bads(reset_bads=True)
    if settings.reference is not None:
        if isinstance(settings.reference, tuple):
            _check_reference(settings.reference, signal, file, participant)
        wanted = "average" if settings.reference == "average" else list(settings.reference)
        signal.load_data().set_eeg_reference(wanted, projection=False)


def not_finite(signal: Any, settings: Preprocessing) -> list[str]:
    """Find channels that a reference would spread to others: those with NaN or infinite values."""
    import numpy as np

    if settings.reference is None:
        return []
    data = signal.load_data().get_data()
    return [
        name for name, each in zip(signal.ch_names, np.moveaxis(data, -2, 0)) if not np.isfinite(each).all()
    ]


def refuse_spread(data: Any, odd: Sequence[str], file: Path, participant: str) -> None:
    """Refuse trials that a new reference filled with NaN, and name the channels that had it.

    data: float. The trials.
    """
    import numpy as np

    if not odd or np.isfinite(data).all():
        return
    raise InputError(
        "a channel has values that are not finite numbers, and the reference spreads them",
        participant=participant,
        file=file,
        field="input.preprocessing.reference",
        found=f"NaN or infinite values in {', '.join(odd[:NAMED])}"
        + f" and {len(odd) - NAMED} more" * (len(odd) > NAMED),
        expected="finite numbers in all channels of the trials",
        hint=f"leave out (input.drop = {list(odd)[:NAMED]}), or mark as bad "
        f"(input.preprocessing.bads.{key_of(participant)})",
    )


def _check_reference(names: Sequence[str], signal: Any, file: Path, participant: str) -> None:
    unknown = [name for name in names if name not in signal.ch_names or name in signal.info["bads"]]
    if unknown or not names:
        raise InputError(
            "a channel of the reference is not in the file, or bad" if names else "no reference is named",
            participant=participant,
            file=file,
            field="input.preprocessing.reference",
            found=", ".join(unknown) or "[]",
            expected=f"'average', or names among {', '.join(signal.ch_names)}",
        )


def _notches(notch: Band | None) -> list[float]:
    return [] if notch is None else [notch] if isinstance(notch, int | float) else list(notch)
