"""Arrays in files of NumPy: what they say of themselves, and their values, never as Python objects."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["array_in", "as_text", "declared", "shape_and_type"]

DOUBLE = 8  # bytes
TEXTS = {"y": "labels", "ch": "names of channels", "names": "names of features"}
"""What arrays of text are."""


def declared(file: Path, participant: str, keys: Collection[str]) -> int:
    """Bytes of arrays as doubles, after each was found to be as long as its shape says."""
    if not zipfile.is_zipfile(file):
        with file.open("rb") as stream:
            return _declared(stream, file.stat().st_size, file.name, file, participant)
    total = 0
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.filename.removesuffix(".npy") in keys:
                with archive.open(member) as stream:
                    total += _declared(stream, member.file_size, member.filename, file, participant)
    return total


def shape_and_type(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and type that an array says it has."""
    from numpy.lib import format as npy

    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


def array_in(content: Any, key: str, file: Path, participant: str) -> np.ndarray:
    """Values of an array."""
    try:
        found: np.ndarray = content[key]
    except ValueError as error:
        if not any(words in str(error) for words in ("allow_pickle", "Python objects in dtype")):
            raise
        raise InputError(
            f"{TEXTS.get(key, key)} are Python objects, which are not read",
            participant=participant,
            file=file,
            field=key,
            expected="an array of numbers or of text",
            hint=f"save it again with {key}.astype({'str' if key in TEXTS else 'float'})",
        ) from None
    return found


def as_text(value: object) -> str:
    """A label as text: ``"1"`` for 1 and for 1.0."""
    import numpy as np

    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _declared(stream: IO[bytes], length: int, name: str, file: Path, participant: str) -> int:
    shape, dtype = shape_and_type(stream)
    size, left = math.prod(shape) * dtype.itemsize, length - stream.tell()
    if size > left and not dtype.hasobject:
        raise InputError(
            "the file cannot be read",
            participant=participant,
            file=file,
            field=name,
            found=f"{left} bytes",
            expected=f"{size} bytes: shape {shape} of {dtype}",
            hint="copy the file again from its source, or save it again",
        )
    return max(length, math.prod(shape) * DOUBLE)
