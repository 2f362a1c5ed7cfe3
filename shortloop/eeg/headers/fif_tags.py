"""Tags of .fif files: blocks in a file, and whether it is whole."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from shortloop.base.errors import InputError

PACKED, BYTES = 10, 4  # in memory, for each byte of a packed file and of samples of two bytes
BYTES_OF_FLOAT = 2  # in memory, for each byte in the file
TAG = struct.Struct(">4i")  # kind, type, size of what follows, next
BLOCK_START = 104  # a kind of tag
RAW, EVOKED, EPOCHS = {102, 112, 119}, 104, 373  # kinds of blocks


def declared(file: Path) -> int:
    """Return the bytes of the file as doubles; refuse tags that point back, an endless loop for MNE."""
    size = file.stat().st_size
    if file.suffix == ".gz":
        return PACKED * size
    return size * (BYTES if RAW & blocks(file) else BYTES_OF_FLOAT)


def blocks(file: Path) -> set[int]:
    """Return the kinds of blocks in a file."""
    packed = file.suffix == ".gz"
    size = None if packed else file.stat().st_size
    with gzip.open(file) if packed else file.open("rb") as stream:
        return set(_block_kinds(cast("IO[bytes]", stream), size))


def _block_kinds(stream: IO[bytes], size: int | None) -> Iterator[int]:
    at = 0
    while size is None or at < size or not at:
        stream.seek(at)
        header = stream.read(TAG.size)
        if size is None and not header:
            break
        kind, _, length, following = TAG.unpack(header) if len(header) == TAG.size else (0, 0, -1, 0)
        end = at + TAG.size + length
        if length < 0 or 0 < following < end or (size is not None and max(end, following) > size):
            found = "truncated or damaged" + ("" if size is None else f": {size} bytes")
            expected = f"a tag at byte {at} that ends within them"
            hint = "copy the file again from its source"
            raise InputError("the file cannot be read", found=found, expected=expected, hint=hint)
        if kind == BLOCK_START and length == 4:
            yield int.from_bytes(stream.read(4), "big", signed=True)
        if following < 0:
            break
        at = following or end
