"""Epochs that MNE saved (-epo.fif)."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import Patterns, RecordedInput
from shortloop.eeg.formats.selection import class_of_event, kept_channels
from shortloop.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from shortloop.eeg.formats.sessions import Part

__all__ = ["FifInput"]

BYTES_OF_FLOAT, BYTES_OF_PACKED = 2, 10  # in memory, for each byte in the file
TAG = struct.Struct(">4i")  # kind, type, size of what follows, next


class FifInput(RecordedInput):
    """Epochs that MNE saved.

    A name of an event stands for all events that have it among their ``/``-separated parts, as in MNE. Data
    are as they were saved, in V (T, T/m for MEG): of EEG and MEG channels that are neither dropped nor marked
    as bad; projections are applied. ``trial_info``: ``"file"`` (number of the file), ``"event"``, and the
    columns of the epochs' metadata.
    """

    format: Literal["fif"] = Field(description="MNE epochs (-epo.fif)")
    drop: Patterns = Field((), description="channels to leave out; default: none; only data channels count")

    def warm_up(self) -> None:
        _mne()

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of the file as doubles, after its tags were found to lie in it, each behind the one before:
        if one pointed back, MNE would go round for ever."""
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

    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        import numpy as np

        from shortloop.eeg.formats.sessions import Part

        wanted, mne = class_of_event(self, classes), _mne()
        epochs = mne.read_epochs(file, preload=True, verbose="ERROR")
        picks = mne.pick_types(epochs.info, meg=True, eeg=True, ref_meg=False, exclude="bads")
        channels = kept_channels(
            [epochs.ch_names[index] for index in picks],
            self.drop,
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


def _mne() -> Any:
    """MNE with those of its parts that are used here; each is loaded on first use."""
    import mne
    import mne.epochs
    import mne.event

    return mne


def _labels_of_ids(
    event_id: dict[str, int], wanted: dict[str, int], classes: Sequence[str], file: Path, participant: str
) -> dict[int, int]:
    """Event codes to classes."""
    labels: dict[int, int] = {}
    for event, label in wanted.items():
        for name in _mne().event.match_event_names(event_id, [event], on_missing="ignore"):
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
