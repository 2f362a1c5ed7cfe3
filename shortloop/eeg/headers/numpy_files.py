"""NumPy files: sizes that headers declare, and values, never as Python objects."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

DOUBLE = 8  # bytes
TEXTS = {"y": "labels", "ch": "names of channels", "names": "names of features"}  # arrays of text


def declared(file: Path, keys: Collection[str]) -> int:
    """Return the bytes of arrays as doubles, after checking the length of each against its shape."""
    if not zipfile.is_zipfile(file):
        with file.open("rb") as stream:
            return _declared(stream, file.stat().st_size, file.name)
    total = 0
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.filename.removesuffix(".npy") in keys:
                with archive.open(member) as stream:
                    total += _declared(stream, member.file_size, member.filename)
    return total


def shape_and_type(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    from numpy.lib import format as npy

    read = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


def read_array(content: Any, key: str, file: Path | None = None) -> np.ndarray:
    """Read an array of an archive, or map the only one of a file; refuse Python objects."""
    import numpy as np

    try:
        found: np.ndarray = content[key] if file is None else np.load(file, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if not any(words in str(error) for words in ("allow_pickle", "Python objects in dtype")):
            raise
        problem = f"{TEXTS.get(key, key)} are Python objects, which are not read"
        hint = f"save it again with {key}.astype({'str' if key in TEXTS else 'float'})"
        raise InputError(problem, file=file, field=key, hint=hint) from None
    return found


def refuse_missing(keys: Collection[str], known: Collection[str], hint: str) -> None:
    if missing := [key for key in keys if key not in known]:
        problem = f"the file has no array {', '.join(missing)}"
        found = ", ".join(known) or "no named arrays"
        raise InputError(problem, field=", ".join(missing), found=found, expected=", ".join(keys), hint=hint)


def refuse_other_types(arrays: Mapping[str, np.ndarray]) -> None:
    if any(array.dtype.kind not in "iuf" for array in arrays.values()):
        found = ", ".join(f"{key} {array.dtype}" for key, array in arrays.items())
        hint = "save both as floating-point numbers"
        raise InputError("X and t must hold real numbers", field="X", found=found, hint=hint)


def as_text(value: object) -> str:
    """Return a label as text: ``"1"`` for 1 and for 1.0."""
    import numpy as np

    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _declared(stream: IO[bytes], length: int, name: str) -> int:
    shape, dtype = shape_and_type(stream)
    size, left = math.prod(shape) * dtype.itemsize, length - stream.tell()
    if size > left and not dtype.hasobject:
        problem = "the file cannot be read"
        expected = f"{size} bytes: shape {shape} of {dtype}"
        hint = "copy the file again from its source, or save it again"
        raise InputError(problem, field=name, found=f"{left} bytes", expected=expected, hint=hint)
    return max(length, math.prod(shape) * DOUBLE)
