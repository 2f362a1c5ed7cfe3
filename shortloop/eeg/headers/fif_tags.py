"""Tags of .fif files: blocks in a file, and whether it is whole."""

from __future__ import annotations

import gzip
import math
import struct
from pathlib import Path

from shortloop.base.errors import InputError

TAG = struct.Struct(">4i")  # kind, type, size of what follows, next
BLOCK_START = 104  # a kind of tag
RAW, EVOKED, EPOCHS = {102, 112, 119}, 104, 373  # kinds of blocks


def blocks(file: Path) -> set[int]:
    """Return the kinds of blocks in a file; refuse tags that point back, an endless loop for MNE."""
    packed = file.suffix == ".gz"
    size = math.inf if packed else file.stat().st_size
    found, at = set(), 0
    with gzip.open(file) if packed else file.open("rb") as stream:
        while at < size or not at:
            stream.seek(at)
            header = stream.read(TAG.size)
            if packed and not header:
                break
            kind, _, length, following = TAG.unpack(header) if len(header) == TAG.size else (0, 0, -1, 0)
            end = at + TAG.size + length
            if length < 0 or 0 < following < end or max(end, following) > size:
                what = "truncated or damaged" + ("" if packed else f": {size} bytes")
                expected = f"a tag at byte {at} that ends within them"
                hint = "copy the file again from its source"
                problem = "the file cannot be read"
                raise InputError(problem, found=what, expected=expected, hint=hint)
            if kind == BLOCK_START and length == 4:
                found.add(int.from_bytes(stream.read(4), "big", signed=True))
            if following < 0:
                break
            at = following or end
    return found
