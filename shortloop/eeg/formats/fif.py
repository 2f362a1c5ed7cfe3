"""Epochs that MNE saved (-epo.fif)."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mne import pick_types, read_epochs
from mne.event import match_event_names

from shortloop.eeg.data import Epochs
from shortloop.eeg.formats.guarded import reading
from shortloop.eeg.formats.selection import class_of_event, kept_channels
from shortloop.eeg.formats.sessions import Part, join
from shortloop.eeg.formats.settings import FifInput
from shortloop.errors import InputError

__all__ = ["declared", "read"]

BYTES_OF_FLOAT, BYTES_OF_PACKED = 2, 10  # in memory, for each byte in the file
TAG = struct.Struct(">4i")  # kind, type, size of what follows, next


def read(
    settings: FifInput, files: Sequence[Path], *, participant: str, phase: str, classes: Sequence[str]
) -> Epochs:
    """Epochs of the classes' events, as they were saved.

    Parameters
    ----------
    settings : FifInput
        The study's input. A name of an event stands for all events that have it among their
        ``/``-separated parts, as in MNE.
    files : sequence of Path
        Epochs of the phase, joined in this order.
    participant, phase : str
        Whose and of which phase.
    classes : sequence of str
        Classes of the study.

    Returns
    -------
    Epochs
        In V (T, T/m for MEG). ``trial_info``: ``"file"`` (number of the file), ``"event"``, and the columns
        of the epochs' metadata. EEG and MEG channels that are neither dropped nor marked as bad;
        projections are applied.

    Raises
    ------
    InputError
        If a file is unreadable, an event belongs to two classes, files do not agree, or a class has no
        trial.
    """
    wanted = class_of_event(settings, classes)
    parts = []
    for file in files:
        with reading(file, participant):
            parts.append(_read_part(settings, file, participant, wanted, classes))
    return join(parts, participant=participant, phase=phase, classes=classes)


def declared(file: Path, participant: str) -> int:
    """Bytes of the file as doubles, after its tags were found to lie in it, each behind the one before.

    Parameters
    ----------
    file : Path
        The file.
    participant : str
        Whose file it is, for messages.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If it ends within a tag, or a tag points back: MNE would go round for ever.
    """
    size = file.stat().st_size
    if file.suffix == ".gz":
        return BYTES_OF_PACKED * size
    with file.open("rb") as stream:
        at = 0
        while at < size:
            stream.seek(at)
            header = stream.read(TAG.size)
            _, _, length, following = TAG.unpack(header) if len(header) == TAG.size else (0, 0, -1, 0)
            end = at + TAG.size + length
            if length < 0 or end > size or 0 < following < end or following > size:
                raise InputError(
                    "the file cannot be read",
                    participant=participant,
                    file=file,
                    found=f"truncated or damaged: {size} bytes",
                    expected=f"a tag at byte {at} that ends within them",
                    hint="copy the file again from its source",
                )
            if following < 0:
                break
            at = following or end
    return BYTES_OF_FLOAT * size


def _read_part(
    settings: FifInput, file: Path, participant: str, wanted: dict[str, int], classes: Sequence[str]
) -> Part:
    epochs = read_epochs(file, preload=True, verbose="ERROR")
    picks = pick_types(epochs.info, meg=True, eeg=True, ref_meg=False, exclude="bads")
    channels = kept_channels(
        [epochs.ch_names[index] for index in picks],
        settings.drop,
        known=epochs.ch_names,
        file=file,
        participant=participant,
    )
    labels = _labels_of_ids(epochs.event_id, wanted, classes, file, participant)
    numbers = epochs.events[:, 2]
    chosen = np.flatnonzero(np.isin(numbers, list(labels)))
    by_id = {number: event for event, number in epochs.event_id.items()}
    info = {"event": np.array([by_id[number] for number in numbers[chosen]], dtype=str)}
    if epochs.metadata is not None:
        info = {**_columns(epochs.metadata.iloc[chosen]), **info}
    return Part(
        file=file,
        data=epochs.get_data(picks=channels)[chosen],
        labels=np.array([labels[number] for number in numbers[chosen]], dtype=np.int64),
        times=epochs.times,
        sfreq=float(epochs.info["sfreq"]),
        channels=tuple(channels),
        seen=Counter(by_id[number] for number in numbers),
        info=info,
    )


def _labels_of_ids(
    event_id: dict[str, int], wanted: dict[str, int], classes: Sequence[str], file: Path, participant: str
) -> dict[int, int]:
    """Event codes to classes."""
    labels: dict[int, int] = {}
    for event, label in wanted.items():
        for name in match_event_names(event_id, [event], on_missing="ignore"):
            if labels.setdefault(event_id[name], label) != label:
                raise InputError(
                    "an event belongs to two classes",
                    participant=participant,
                    file=file,
                    field="input.events",
                    found=f"{name} in {classes[labels[event_id[name]]]} and {classes[label]}",
                    expected="each event in one class",
                    hint="correct [input.events] in the study file",
                )
    return labels


def _columns(metadata: Any) -> dict[str, np.ndarray]:
    """Columns as arrays that need no pickle: numbers as they are, all else as text."""
    columns = {}
    for name in metadata.columns:
        values = metadata[name].to_numpy()
        columns[str(name)] = values if values.dtype.kind in "biuf" else values.astype(str)
    return columns
