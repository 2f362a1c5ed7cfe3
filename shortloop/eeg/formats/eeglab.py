"""EEGLAB datasets: .set, with samples in it or in .fdt."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.recording_format import FilesInput
from shortloop.eeg.formats.signals import SignalInput


class EeglabInput(SignalInput, FilesInput):
    """EEGLAB datasets, continuous or epoched, saved by any version of MATLAB.

    An epoch is called as the event that it is locked to, the one at 0 ms; if none is, or all are locked to
    the same, by all of its events.
    """

    format: Literal["eeglab"] = Field(description="EEGLAB datasets (.set, .fdt), continuous or epoched")

    def warm_up(self) -> None:
        import pymatreader  # noqa: F401
        import scipy.io  # noqa: F401

        super().warm_up()

    def beside(self, file: Path) -> list[Path]:
        samples = file.with_suffix(".fdt")
        return [samples] if samples.is_file() else []

    def open(self, file: Path, participant: str) -> Any:
        import mne

        from shortloop.eeg.formats.epochs.events import event_name, name_by_events

        try:
            raw = mne.io.read_raw_eeglab(file, montage_units="auto")
            raw.annotations.rename({each: event_name(each) for each in set(raw.annotations.description)})
            return raw
        except TypeError as error:
            if "trials" not in str(error):
                raise
        return name_by_events(mne.io.read_epochs_eeglab(file, montage_units="auto"), file)
