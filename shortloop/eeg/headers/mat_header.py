"""What a MAT file says it holds, from the tags of its variables: SciPy believes anything that a file says."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import IO

from shortloop.base.errors import InputError
from shortloop.eeg.headers.mat73 import is_hdf5

__all__ = ["declared"]

HEADER_BYTES = 128
LEVEL_5 = 1  # version in the header
TAG_BYTES = 8
MATRIX, COMPRESSED = 14, 15  # types of variables
PEEK = 4096  # bytes; the codes of a compressed variable come before its first bytes


def declared(file: Path, participant: str) -> int:
    """Bytes of all variables when they are decompressed, after they were found to lie in the file."""
    size = file.stat().st_size
    if is_hdf5(file):
        return _declared_by_hdf5(file)
    with file.open("rb") as stream:
        order = _order(stream, size, file, participant)
        total, at = 0, HEADER_BYTES
        while at < size:
            stream.seek(at)
            tag = stream.read(TAG_BYTES)
            kind, length = struct.unpack(f"{order}2I", tag) if len(tag) == TAG_BYTES else (0, 0)
            at += TAG_BYTES + length
            if kind not in (MATRIX, COMPRESSED) or at > size:
                raise InputError(
                    "the file cannot be read",
                    participant=participant,
                    file=file,
                    found=f"{size} bytes, of which the last variable needs {at} or is damaged",
                    hint="copy the file again from its source",
                )
            if kind == COMPRESSED:
                peek = stream.read(min(PEEK, length))
                length = struct.unpack(f"{order}2I", zlib.decompressobj().decompress(peek, TAG_BYTES))[1]
            total += length
    return total


def _declared_by_hdf5(file: Path) -> int:
    import h5py

    sizes: list[int] = []
    with h5py.File(file) as content:
        content.visititems(
            lambda _, each: sizes.append(each.nbytes) if isinstance(each, h5py.Dataset) else None
        )
    return sum(sizes)


def _order(stream: IO[bytes], size: int, file: Path, participant: str) -> str:
    """Order of the bytes in a file of level 5, for `struct`."""
    header = stream.read(HEADER_BYTES)
    order = ">" if header[126:] == b"MI" else "<"
    version = header[125 if order == "<" else 124 :][:1]
    if len(header) < HEADER_BYTES:
        found, hint = f"{size} bytes", "copy the file again from its source"
    elif 0 in header[:4]:
        found, hint = "level 4, or no .mat file", "save it with save(…, '-v6')"
    elif header[126:] not in (b"MI", b"IM") or version != bytes([LEVEL_5]):
        found, hint = f"a header that ends with {header[124:]!r}", "copy the file again from its source"
    else:
        return order
    raise InputError(
        "the file cannot be read",
        participant=participant,
        file=file,
        found=found,
        expected="a .mat file of MATLAB's versions 5 to 7.3",
        hint=hint,
    )
