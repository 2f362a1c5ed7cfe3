"""NumPy files: unpacked sizes, and values, never as Python objects."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError

if TYPE_CHECKING:
    import numpy as np

TEXTS = {"y": "labels", "ch": "names of channels", "names": "names of features"}  # arrays of text


def declared(file: Path, keys: Collection[str]) -> int:
    """Return the unpacked bytes of arrays."""
    if not zipfile.is_zipfile(file):
        return file.stat().st_size
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
    return sum(each.file_size for each in members if each.filename.removesuffix(".npy") in keys)


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
