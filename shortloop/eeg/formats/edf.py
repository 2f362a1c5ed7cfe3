"""EDF, EDF+, BDF and BDF+ recordings (Kemp & Olivan 2003, Clin. Neurophysiol. 114(9):1755)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.recording_format import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.edf import EdfHeader, in_its_encoding


class EdfInput(SignalInput, FilesInput):
    """EDF, EDF+, BDF and BDF+ recordings.

    Channels whose EDF+ label has a type other than EEG are left out; names that are padded with dots, as in
    the PhysioNet motor imagery database, are standardised.
    """

    format: Literal["edf"] = Field(description="EDF, EDF+, BDF and BDF+")

    def warm_up(self) -> None:
        import mne.datasets.eegbci
        import mne.io.edf  # noqa: F401

        super().warm_up()

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import mne.datasets.eegbci

        header = EdfHeader.read(file)
        read = mne.io.read_raw_bdf if header.bdf else mne.io.read_raw_edf
        if header.names and all(name.endswith(b"Annotations") for name in header.names):
            hint = "write them to NAME_events.tsv beside their recording, and move this file elsewhere"
            raise InputError("the file has annotations alone, and no signal", hint=hint)
        raw = in_its_encoding(partial(read, file, infer_types=True))
        if any(name.endswith(".") for name in raw.ch_names):
            mne.datasets.eegbci.standardize(raw)
        return raw
