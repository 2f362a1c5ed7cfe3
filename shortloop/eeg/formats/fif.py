"""Recordings and epochs that MNE saved (.fif)."""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal, cast

from pydantic import Field

from shortloop.eeg.formats.base import FilesInput
from shortloop.eeg.formats.signals import BYTES, PACKED, SignalInput
from shortloop.errors import InputError

__all__ = ["FifInput"]

BYTES_OF_FLOAT = 2  # in memory, for each byte in the file
TAG = struct.Struct(">4i")  # kind, type, size of what follows, next
BLOCK_START = 104  # a kind of tag
RAW, EVOKED, EPOCHS = {102, 112, 119}, 104, 373  # kinds of blocks


class FifInput(SignalInput, FilesInput):
    """Recordings and epochs that MNE saved, in one file or split into several."""

    format: Literal["fif"] = Field(description="raw recordings and epochs that MNE saved (.fif)")

    def beside(self, file: Path) -> list[Path]:
        # MNE finds further parts by their names, whatever these were when they were saved.
        name, _, ending = file.name.partition(".fif")
        split = re.fullmatch(r"(.*_split-)\d+(_\w+)", name)
        pattern = rf"{re.escape(split[1])}\d+{split[2]}" if split else rf"{re.escape(name)}-\d+"
        parts = re.compile(pattern + re.escape(f".fif{ending}"))
        return sorted(path for path in file.parent.iterdir() if path != file and parts.fullmatch(path.name))

    def declared(self, file: Path, participant: str) -> int:
        """Bytes of the file as doubles, after its tags were found to lie in it, each behind the one before:
        if one pointed back, MNE would go round for ever."""
        size = file.stat().st_size
        if file.suffix == ".gz":
            return PACKED * size
        return size * (BYTES if RAW & _blocks(file, participant) else BYTES_OF_FLOAT)

    def open(self, file: Path, participant: str) -> Any:
        import mne

        blocks = _blocks(file, participant)
        if EPOCHS in blocks:
            return mne.read_epochs(file, preload=True)
        if RAW & blocks:
            return mne.io.read_raw_fif(file)
        averages = EVOKED in blocks
        raise InputError(
            "averages cannot be decoded" if averages else "there is no recording in the file",
            participant=participant,
            file=file,
            found="averages (evoked)" if averages else "something else that MNE saved",
            expected="epochs, or a continuous recording",
            hint="save the epochs as they are before they are averaged" if averages else None,
        )


def _blocks(file: Path, participant: str) -> set[int]:
    """Kinds of blocks in a file."""
    packed = file.suffix == ".gz"
    size = None if packed else file.stat().st_size
    with gzip.open(file) if packed else file.open("rb") as stream:
        return set(_begun(cast("IO[bytes]", stream), size, file, participant))


def _begun(stream: IO[bytes], size: int | None, file: Path, participant: str) -> Iterator[int]:
    at = 0
    while size is None or at < size or not at:
        stream.seek(at)
        header = stream.read(TAG.size)
        if size is None and not header:
            break
        kind, _, length, following = TAG.unpack(header) if len(header) == TAG.size else (0, 0, -1, 0)
        end = at + TAG.size + length
        if length < 0 or 0 < following < end or (size is not None and max(end, following) > size):
            raise InputError(
                "the file cannot be read",
                participant=participant,
                file=file,
                found="truncated or damaged" + ("" if size is None else f": {size} bytes"),
                expected=f"a tag at byte {at} that ends within them",
                hint="copy the file again from its source",
            )
        if kind == BLOCK_START and length == 4:
            yield int.from_bytes(stream.read(4), "big", signed=True)
        if following < 0:
            break
        at = following or end
