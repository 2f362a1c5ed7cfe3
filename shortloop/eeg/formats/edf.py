"""EDF+ recordings with annotations, cut into epochs around them (Kemp & Olivan 2003, Clin.
Neurophysiol. 114(9):1755)."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from mne import Epochs as Cut
from mne import events_from_annotations, pick_types
from mne.datasets.eegbci import standardize
from mne.io import read_raw_edf

from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.guarded import reading
from shortloop.eeg.formats.selection import class_of_event, kept_channels
from shortloop.eeg.formats.sessions import Part, join
from shortloop.eeg.formats.settings import EdfInput
from shortloop.errors import InputError

__all__ = ["declared", "read"]

BYTES_OF_SAMPLE = 4  # in memory, for each byte in the file


def read(
    settings: EdfInput, files: Sequence[Path], *, participant: str, phase: str, classes: Sequence[str]
) -> Epochs:
    """Epochs around the annotations of each class, without baseline correction or filter.

    Parameters
    ----------
    settings : EdfInput
        The study's input.
    files : sequence of Path
        Recordings of the phase, joined in this order.
    participant, phase : str
        Whose and of which phase.
    classes : sequence of str
        Classes of the study.

    Returns
    -------
    Epochs
        In V. ``trial_info``: ``"file"`` (number of the file), ``"event"`` (annotation), ``"onset"`` (s in
        the file). Channels whose EDF+ label has a type other than EEG are left out; names that are
        padded with dots, as in the PhysioNet motor imagery database, are standardised.

    Raises
    ------
    InputError
        If a file is truncated, discontinuous or unreadable, files do not agree, or a class has no trial.

    Warns
    -----
    UserWarning
        If trials are left out because they reach beyond the recording or are annotated as bad.
    """
    if settings.tmax <= settings.tmin:
        raise InputError(
            "the epochs end before they begin",
            field="input.tmax",
            found=f"{settings.tmax} s",
            expected=f"later than input.tmin, {settings.tmin} s",
            hint="correct input.tmin or input.tmax in the study file",
        )
    wanted = class_of_event(settings, classes)
    parts = []
    for file in files:
        with reading(file, participant):
            parts.append(_read_part(settings, file, participant, wanted))
    return join(parts, participant=participant, phase=phase, classes=classes)


def declared(file: Path, participant: str) -> int:
    """Bytes of all samples in memory, after the size of the file was found to be what its header says.

    Parameters
    ----------
    file : Path
        The file. MNE would read what there is of it.
    participant : str
        Whose file it is, for messages.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If it is truncated or discontinuous.
    """
    with file.open("rb") as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        header = stream.read(256)
        if len(header) < 256 or header[:8] != b"0       ":
            raise InputError(
                "the file is not EDF",
                participant=participant,
                file=file,
                found=f"{size} bytes that begin with {header[:8]!r}",
                expected="a header that begins with '0'",
                hint="check that the file is whole and of the format that the study names",
            )
        if header[192:197] == b"EDF+D":
            raise InputError(
                "the recording is discontinuous (EDF+D)",
                participant=participant,
                file=file,
                expected="a continuous recording (EDF+C)",
                hint="export it without gaps, so that annotations and samples keep the same time",
            )
        start, records, signals = int(header[184:192]), int(header[236:244]), int(header[252:256])
        stream.seek(256 + signals * 216)
        per_record = 2 * sum(int(stream.read(8)) for _ in range(signals))
        whole, rest = divmod(size - start, per_record)
        # -1: the recorder did not know; all that is there counts if it is whole.
        if rest or whole < 1 or records not in (whole, -1):
            short = rest or whole < max(records, 1)
            raise InputError(
                "the file is truncated" if short else "the file is longer than its header says",
                participant=participant,
                file=file,
                found=f"{size} bytes: {whole} records" + (f" and {rest} bytes" if rest else ""),
                expected=f"{start + records * per_record} bytes: {records} records" if records > 0 else None,
                hint="copy the file again from its source",
            )
    return BYTES_OF_SAMPLE * (size - start)


def _read_part(settings: EdfInput, file: Path, participant: str, wanted: dict[str, int]) -> Part:
    raw = read_raw_edf(file, infer_types=True, preload=False, verbose="ERROR")
    if any(name.endswith(".") for name in raw.ch_names):
        standardize(raw)
    eeg = [raw.ch_names[index] for index in pick_types(raw.info, eeg=True, exclude=())]
    channels = kept_channels(eeg, settings.drop, known=raw.ch_names, file=file, participant=participant)
    names = list(map(str, raw.annotations.description))
    ids = {event: number for number, event in enumerate(wanted, start=1) if event in names}
    # A file may have none of the events: its epochs are then none, on the same grid of samples.
    sfreq = float(raw.info["sfreq"])
    times = np.arange(round(settings.tmin * sfreq), round(settings.tmax * sfreq) + 1) / sfreq
    data = np.empty((0, len(channels), len(times)))
    chosen = np.empty((0, 3), dtype=int)
    if ids:
        events, _ = events_from_annotations(raw, event_id=ids, verbose="ERROR")
        epochs = Cut(
            raw,
            events,
            ids,
            tmin=settings.tmin,
            tmax=settings.tmax,
            baseline=None,
            picks=channels,
            proj=False,
            on_missing="ignore",
            preload=True,
            verbose="ERROR",
        )
        data, times, chosen = epochs.get_data(copy=False), epochs.times, epochs.events
        _warn_dropped(epochs.drop_log, file, participant)
    by_id = {number: event for event, number in ids.items()}
    kept = [by_id[number] for number in chosen[:, 2]]
    return Part(
        file=file,
        data=data,
        labels=np.array([wanted[event] for event in kept], dtype=np.int64),
        times=times,
        sfreq=sfreq,
        channels=tuple(channels),
        seen=Counter(names),
        info={
            "event": np.array(kept, dtype=str),
            "onset": (chosen[:, 0] - raw.first_samp) / sfreq,
        },
    )


def _warn_dropped(log: Sequence[Sequence[str]], file: Path, participant: str) -> None:
    reasons = Counter(", ".join(reason) for reason in log if reason)
    if reasons:
        why = "; ".join(f"{count} × {reason}" for reason, count in reasons.items())
        warnings.warn(
            f"{participant}, {file.name}: {reasons.total()} of {len(log)} trials were left out ({why})",
            stacklevel=2,
        )
