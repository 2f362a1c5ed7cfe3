"""Recordings and epochs that MNE saved (.fif)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.recording_format import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.fif_tags import EPOCHS, EVOKED, RAW, blocks


class FifInput(SignalInput, FilesInput):
    """Recordings and epochs that MNE saved, in one file or split into several."""

    format: Literal["fif"] = Field(description="raw recordings and epochs that MNE saved (.fif)")

    def beside(self, file: Path) -> list[Path]:
        # MNE finds further parts by their names, whatever they were called when saved.
        name, _, ending = file.name.partition(".fif")
        split = re.fullmatch(r"(.*_split-)\d+(_\w+)", name)
        pattern = rf"{re.escape(split[1])}\d+{split[2]}" if split else rf"{re.escape(name)}-\d+"
        parts = re.compile(pattern + re.escape(f".fif{ending}"))
        return sorted(path for path in file.parent.iterdir() if path != file and parts.fullmatch(path.name))

    def open(self, file: Path, participant: str) -> Any:
        import mne

        found = blocks(file)
        if EPOCHS in found:
            return mne.read_epochs(file, preload=True)
        if RAW & found:
            return mne.io.read_raw_fif(file)
        problem = "averages cannot be decoded" if EVOKED in found else "there is no recording in the file"
        hint = "save the epochs as they are before they are averaged"
        raise InputError(problem, expected="epochs, or a continuous recording", hint=hint)
