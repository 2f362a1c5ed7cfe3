"""EDF, EDF+, BDF and BDF+ recordings (Kemp & Olivan 2003, Clin. Neurophysiol. 114(9):1755)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.edf_header import declared, is_bdf
from shortloop.eeg.formats.signals import SignalInput

__all__ = ["EdfInput"]


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

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of all samples in memory; it must be whole, and not discontinuous."""
        return declared(file, participant)

    def open(self, file: Path, participant: str) -> Any:
        import mne
        import mne.datasets.eegbci

        read = mne.io.read_raw_bdf if is_bdf(file) else mne.io.read_raw_edf
        raw = read(file, infer_types=True)
        if any(name.endswith(".") for name in raw.ch_names):
            mne.datasets.eegbci.standardize(raw)
        return raw
