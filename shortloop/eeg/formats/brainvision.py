"""BrainVision recordings: a header (.vhdr), markers (.vmrk) and samples (.eeg)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.signals import SignalInput
from shortloop.errors import InputError

__all__ = ["BrainvisionInput"]

POINTERS = ("DataFile", "MarkerFile")
SAMPLE_BYTES = {"INT_16": 2, "UINT_16": 2, "INT_32": 4, "IEEE_FLOAT_32": 4, "IEEE_FLOAT_64": 8}
FIELD = re.compile(r"^[ \t]*(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)
MARKER = re.compile(r"^Mk\d+=[^,]*,[^,]*,\s*(\d+)", re.MULTILINE)


class BrainvisionInput(SignalInput, FilesInput):
    """BrainVision recordings; `files` names the headers.

    Events are called as in MNE, ``Stimulus/S  1``, and either part alone names them, too.
    """

    format: Literal["brainvision"] = Field(description="BrainVision headers (.vhdr), with .vmrk and .eeg")

    def warm_up(self) -> None:
        import mne.io.brainvision  # noqa: F401

        super().warm_up()

    def beside(self, file: Path) -> list[Path]:
        return [path for path in _pointed_to(file).values() if path.is_file()]

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of the header, after the size of the samples was found to be what it and the markers say: MNE
        would read what there is of them."""
        said = _fields(file)
        pointed = _pointed_to(file)
        for path in pointed.values():
            if not path.is_file():
                raise InputError(
                    "a file of the recording is missing",
                    participant=participant,
                    file=file,
                    found=f"no {path.name} beside it",
                    hint="put it there; if it was renamed, give it the old name, or correct the header",
                )
        width = SAMPLE_BYTES.get(said.get("BinaryFormat", ""), 0) * int(said.get("NumberOfChannels", 0))
        if "DataFile" in pointed and said.get("DataFormat") == "BINARY" and width:
            size = pointed["DataFile"].stat().st_size
            markers = _text(pointed["MarkerFile"]) if "MarkerFile" in pointed else ""
            last = max((int(at) for at in MARKER.findall(markers)), default=0)
            samples = int(said.get("DataPoints") or 0)
            if size % width or size // width < max(samples, last, 1):
                raise InputError(
                    "the samples are truncated",
                    participant=participant,
                    file=file,
                    found=f"{pointed['DataFile'].name} with {size / width:.10g} samples",
                    expected=f"{samples}"
                    if samples
                    else f"whole ones, and one for the last marker, at {last}",
                    hint="copy the files again from their source",
                )
        return file.stat().st_size

    def open(self, file: Path, participant: str) -> Any:
        import mne

        return mne.io.read_raw_brainvision(file)


def _text(file: Path) -> str:
    content = file.read_bytes()
    return content.decode("utf-8" if b"UTF-8" in content[:2000] else "latin-1", "replace")


def _fields(file: Path) -> dict[str, str]:
    """What the header says; of several fields of a name the first."""
    return dict(reversed(FIELD.findall(_text(file).replace("\r", ""))))


def _pointed_to(file: Path) -> dict[str, Path]:
    said = _fields(file)
    names = {each: said[each].replace("$b", file.stem) for each in POINTERS if said.get(each)}
    return {each: file.with_name(Path(name).name) for each, name in names.items()}
