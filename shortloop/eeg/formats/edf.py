"""EDF+ recordings with annotations, cut into epochs around them (Kemp & Olivan 2003, Clin.
Neurophysiol. 114(9):1755)."""

from __future__ import annotations

import warnings
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

__all__ = ["EdfInput"]

BYTES_OF_SAMPLE = 4  # in memory, for each byte in the file


class EdfInput(RecordedInput):
    """EDF+ recordings with annotations, cut into epochs around them.

    Epochs have neither baseline correction nor filter, and are in V. ``trial_info``: ``"file"`` (number of
    the file), ``"event"`` (annotation), ``"onset"`` (s in the file). Channels whose EDF+ label has a type
    other than EEG are left out; names that are padded with dots, as in the PhysioNet motor imagery database,
    are standardised. It is said how many trials are left out because they reach beyond the recording or are
    annotated as bad.
    """

    format: Literal["edf"] = Field(description="EDF+ with annotations")
    tmin: float = Field(-0.5, description="start of the epochs, s relative to the annotation; default -0.5")
    tmax: float = Field(1.5, description="end of the epochs, s relative to the annotation; default 1.5")
    drop: Patterns = Field((), description="channels to leave out, e.g. those of the eyes; default: none")

    def warm_up(self) -> None:
        _mne()

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of all samples in memory, after the size of the file was found to be what its header says:
        MNE would read what there is of it. It must not be discontinuous."""
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

    def read_part(self, file: Path, participant: str, classes: Sequence[str]) -> Part:
        import numpy as np

        from shortloop.eeg.formats.sessions import Part

        if self.tmax <= self.tmin:
            raise InputError(
                "the epochs end before they begin",
                field="input.tmax",
                found=f"{self.tmax} s",
                expected=f"later than input.tmin, {self.tmin} s",
                hint="correct input.tmin or input.tmax in the study file",
            )
        wanted, mne = class_of_event(self, classes), _mne()
        raw = mne.io.read_raw_edf(file, infer_types=True, preload=False, verbose="ERROR")
        if any(name.endswith(".") for name in raw.ch_names):
            mne.datasets.eegbci.standardize(raw)
        eeg = [raw.ch_names[index] for index in mne.pick_types(raw.info, eeg=True, exclude=())]
        channels = kept_channels(eeg, self.drop, known=raw.ch_names, file=file, participant=participant)
        names = list(map(str, raw.annotations.description))
        ids = {event: number for number, event in enumerate(wanted, start=1) if event in names}
        sfreq = float(raw.info["sfreq"])
        data, times, chosen = self._cut(raw, ids, channels, file, participant)
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
            info={"event": np.array(kept, dtype=str), "onset": (chosen[:, 0] - raw.first_samp) / sfreq},
        )

    def _cut(
        self, raw: Any, ids: dict[str, int], channels: list[str], file: Path, participant: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Epochs around the wanted annotations, the times of their samples, and events as MNE has them."""
        import numpy as np

        if not ids:  # epochs are then none, on the same grid of samples
            sfreq = float(raw.info["sfreq"])
            times = np.arange(round(self.tmin * sfreq), round(self.tmax * sfreq) + 1) / sfreq
            return np.empty((0, len(channels), len(times))), times, np.empty((0, 3), dtype=int)
        mne = _mne()
        events, _ = mne.events_from_annotations(raw, event_id=ids, verbose="ERROR")
        epochs = mne.Epochs(
            raw,
            events,
            ids,
            tmin=self.tmin,
            tmax=self.tmax,
            baseline=None,
            picks=channels,
            proj=False,
            on_missing="ignore",
            preload=True,
            verbose="ERROR",
        )
        _warn_dropped(epochs.drop_log, file, participant)
        return epochs.get_data(copy=False), epochs.times, epochs.events


def _mne() -> Any:
    """MNE with those of its parts that are used here; each is loaded on first use."""
    import mne
    import mne.datasets.eegbci
    import mne.epochs
    import mne.event
    import mne.io.edf

    return mne


def _warn_dropped(log: Sequence[Sequence[str]], file: Path, participant: str) -> None:
    reasons = Counter(", ".join(reason) for reason in log if reason)
    if reasons:
        why = "; ".join(f"{count} × {reason}" for reason, count in reasons.items())
        warnings.warn(
            f"{participant}, {file.name}: {reasons.total()} of {len(log)} trials were left out ({why})",
            stacklevel=2,
        )
