"""MAT files of any version: variables and structs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

HDF5_AT, HDF5_SIGNATURE = (0, 512), b"\x89HDF\r\n\x1a\n"
HIDDEN = ("#", "__")  # prefixes of names in a file that are no variables


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
