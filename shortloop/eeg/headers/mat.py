"""MAT files of any version: sizes that their tags declare, which SciPy would trust, variables and structs."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import IO, Any

from shortloop.base.errors import InputError

HEADER_BYTES = 128
LEVEL_5 = 1  # version in the header
TAG_BYTES = 8
MATRIX, COMPRESSED = 14, 15  # types of variables
PEEK = 4096  # bytes; the codes of a compressed variable come before its first bytes
HDF5_AT, HDF5_SIGNATURE = (0, 512), b"\x89HDF\r\n\x1a\n"
HIDDEN = ("#", "__")  # prefixes of names in a file that are no variables


def declared(file: Path) -> int:
    """Return the bytes of all variables when decompressed, after checking that they lie in the file."""
    size = file.stat().st_size
    if is_hdf5(file):
        import h5py

        sizes: list[int] = []
        with h5py.File(file) as content:
            content.visititems(
                lambda _, each: sizes.append(each.nbytes) if isinstance(each, h5py.Dataset) else None
            )
        return sum(sizes)
    with file.open("rb") as stream:
        order = _order(stream, size)
        total, at = 0, HEADER_BYTES
        while at < size:
            stream.seek(at)
            tag = stream.read(TAG_BYTES)
            kind, length = struct.unpack(f"{order}2I", tag) if len(tag) == TAG_BYTES else (0, 0)
            at += TAG_BYTES + length
            if kind not in (MATRIX, COMPRESSED) or at > size:
                found = f"{size} bytes, of which the last variable needs {at} or is damaged"
                hint = "copy the file again from its source"
                raise InputError("the file cannot be read", found=found, hint=hint)
            if kind == COMPRESSED:
                peek = stream.read(min(PEEK, length))
                length = struct.unpack(f"{order}2I", zlib.decompressobj().decompress(peek, TAG_BYTES))[1]
            total += length
    return total


def _order(stream: IO[bytes], size: int) -> str:
    """Return the byte order of a file of level 5, for `struct`."""
    header = stream.read(HEADER_BYTES)
    order = ">" if header[126:] == b"MI" else "<"
    version = header[125 if order == "<" else 124 :][:1]
    old = 0 in header[:4]
    if old or len(header) < HEADER_BYTES or header[126:] not in (b"MI", b"IM") or version != bytes([LEVEL_5]):
        found = "level 4, or no .mat file" if old else f"{size} bytes, without a header of level 5"
        expected = "a .mat file of MATLAB's versions 5 to 7.3"
        hint = "save it with save(…, '-v6')" if old else "copy the file again from its source"
        raise InputError("the file cannot be read", found=found, expected=expected, hint=hint)
    return order


def is_hdf5(file: Path) -> bool:
    """True if a file is of version 7.3."""
    with file.open("rb") as stream:
        start = stream.read(max(HDF5_AT) + len(HDF5_SIGNATURE))
    return any(start[at:].startswith(HDF5_SIGNATURE) for at in HDF5_AT)


def variables(file: Path) -> list[str]:
    if is_hdf5(file):
        import h5py

        with h5py.File(file) as content:
            names = list(content)
    else:
        from scipy.io import whosmat

        names = [name for name, _, _ in whosmat(str(file), appendmat=False)]
    return [name for name in names if not name.startswith(HIDDEN)]


def read_struct(file: Path, name: str) -> Any:
    """Return one variable as plain Python: lists, arrays and dicts."""
    from pymatreader import read_mat

    return read_mat(file, variable_names=[name], ignore_fields=["previous", "cfg"])[name]


def listed(value: Any) -> list[Any]:
    """List the items of a list or array, or a single item."""
    return [value] if isinstance(value, str) or not hasattr(value, "__len__") else list(value)
