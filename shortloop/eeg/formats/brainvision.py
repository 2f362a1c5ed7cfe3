"""BrainVision recordings: a header (.vhdr), markers (.vmrk) and samples (.eeg)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.recording_format import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.eeg.headers.brainvision import pointed_to


class BrainvisionInput(SignalInput, FilesInput):
    """BrainVision recordings; `files` names the headers.

    Events are called as in MNE, ``Stimulus/S  1``, or by either part.
    """

    format: Literal["brainvision"] = Field(description="BrainVision headers (.vhdr), with .vmrk and .eeg")

    def warm_up(self) -> None:
        import mne.io.brainvision  # noqa: F401

        super().warm_up()

    def beside(self, file: Path) -> list[Path]:
        pointed = pointed_to(file)
        there = [path for path in pointed.values() if path.is_file()]
        renamed = file.with_suffix(".eeg")  # named in a message of `check_size`
        return [*there, *[renamed] * (pointed.get("DataFile") not in there and renamed.is_file())]

    def open(self, file: Path, participant: str) -> Any:
        import mne

        return mne.io.read_raw_brainvision(file)
