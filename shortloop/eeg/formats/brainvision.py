"""BrainVision recordings: a header (.vhdr), markers (.vmrk) and samples (.eeg)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.signals import SignalInput

__all__ = ["BrainvisionInput"]

POINTERS = re.compile(rb"^[ \t]*(?:DataFile|MarkerFile)[ \t]*=[ \t]*([^\r\n]*?)[ \t]*\r?$", re.MULTILINE)


class BrainvisionInput(SignalInput, FilesInput):
    """BrainVision recordings; `files` names the headers.

    Events are called as in MNE, ``Stimulus/S  1``, and either part alone names them, too.
    """

    format: Literal["brainvision"] = Field(description="BrainVision headers (.vhdr), with .vmrk and .eeg")

    def warm_up(self) -> None:
        import mne.io.brainvision  # noqa: F401

        super().warm_up()

    def beside(self, file: Path) -> list[Path]:
        text = file.read_bytes().replace(b"$b", file.stem.encode())
        encoding = "utf-8" if b"UTF-8" in text[:2000] else "latin-1"
        names = [Path(found.decode(encoding, "replace")).name for found in POINTERS.findall(text)]
        return [
            file.with_name(name) for name in dict.fromkeys(names) if name and file.with_name(name).is_file()
        ]

    def open(self, file: Path, participant: str) -> Any:
        import mne

        return mne.io.read_raw_brainvision(file)
