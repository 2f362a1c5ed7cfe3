"""Classification data in .mat files, as the MATLAB scripts of Bramão and the Python of Erickson
(UPTEC F 21013, Uppsala 2021) pass them between stages: features that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shortloop.base.errors import InputError
from shortloop.eeg.formats.feature_trials import Found
from shortloop.eeg.headers.mat5 import NotMappable, open_struct
from shortloop.eeg.headers.mat73 import is_hdf5, variables

__all__ = ["find_in"]

FIELDS = ("category_name", "feature_name", "feature")


def find_in(file: Path, participant: str) -> Found:
    """All trials of a file."""
    content = _mapped(file) or _loaded(file, participant)
    found = content.found
    _check_shapes(found.cells, len(found.trials), len(found.features), file, participant)
    if content.category is not None:
        _check_category(content.category, found.trials, file, participant)
    return found


@dataclass(frozen=True)
class _Content:
    """What a file holds, with the number of the class of each trial, if it says that too."""

    found: Found
    category: list[Any] | None


def _mapped(file: Path) -> _Content | None:
    """Without a copy, if the file is such that it can be mapped."""
    try:
        with open_struct(file, file.stem) as struct:
            if not set(FIELDS) <= struct.fields.keys():
                return None
            span = struct.span("feature")
            return _Content(
                Found(
                    struct.texts("category_name"),
                    tuple(struct.texts("feature_name")),
                    span.map(file),
                    span=span,
                ),
                struct.numbers("category") if "category" in struct.fields else None,
            )
    except NotMappable:
        return None


def _loaded(file: Path, participant: str) -> _Content:
    struct = _struct_of_hdf5(file, participant) if is_hdf5(file) else _struct(file, participant)
    return _Content(
        Found(
            _texts(struct["category_name"]),
            tuple(_texts(struct["feature_name"])),
            [np.asarray(cell) for cell in _cells(struct["feature"])],
        ),
        np.ravel(struct["category"]).tolist() if "category" in struct else None,
    )


def _struct(file: Path, participant: str) -> dict[str, Any]:
    from scipy.io import loadmat

    content = {
        name: value for name, value in loadmat(file, appendmat=False).items() if not name.startswith("__")
    }
    found = content.get(file.stem)
    if found is None or found.dtype.names is None or found.size != 1:
        raise _no_struct(file, participant, list(content))
    return _with_fields({name: found[name].flat[0] for name in found.dtype.names}, file, participant)


def _struct_of_hdf5(file: Path, participant: str) -> dict[str, Any]:
    """The same of version 7.3, where arrays are transposed, and a cell is a reference."""
    import h5py

    with h5py.File(file) as content:
        found = content.get(file.stem)
        if not isinstance(found, h5py.Group):
            raise _no_struct(file, participant, variables(file))

        def value_of(array: Any) -> np.ndarray:
            if array.attrs.get("MATLAB_empty"):
                return np.empty(0)
            values = array[()]
            if h5py.check_ref_dtype(array.dtype) is None:
                text = array.attrs.get("MATLAB_class") == b"char"
                return np.array([_text(row) for row in np.atleast_2d(values.T)]) if text else values.T
            cells = np.empty(values.size, dtype=object)
            for number, reference in enumerate(values.T.ravel()):
                cells[number] = value_of(content[reference])
            return cells

        return _with_fields(
            {name: value_of(each) for name, each in found.items() if isinstance(each, h5py.Dataset)},
            file,
            participant,
        )


def _text(codes: np.ndarray) -> str:
    return "".join(map(chr, codes.tolist()))


def _no_struct(file: Path, participant: str, names: list[str]) -> InputError:
    return InputError(
        "the file has no struct of its own name",
        participant=participant,
        file=file,
        field=file.stem,
        found=", ".join(names) or "no variables",
        expected=f"a struct named {file.stem}",
        hint="give the file the name that the struct had when it was saved",
    )


def _with_fields(struct: dict[str, Any], file: Path, participant: str) -> dict[str, Any]:
    missing = [name for name in FIELDS if name not in struct]
    if missing:
        raise InputError(
            f"the struct has no field {', '.join(missing)}",
            participant=participant,
            file=file,
            field=file.stem,
            found=", ".join(struct),
            expected=", ".join(FIELDS),
            hint="save the classification data with all fields",
        )
    return struct


def _cells(value: np.ndarray) -> list[Any]:
    # A matrix instead of a cell array: one bin.
    return list(np.ravel(value)) if value.dtype == object else [value]


def _texts(value: np.ndarray) -> list[str]:
    """A cell array of strings, or a matrix of characters, as strings."""
    if value.dtype != object:
        return [str(item).rstrip() for item in np.ravel(value)]
    return ["".join(map(str, np.ravel(item))) for item in np.ravel(value)]


def _check_shapes(
    cells: Sequence[np.ndarray] | np.ndarray, trials: int, features: int, file: Path, participant: str
) -> None:
    for number, cell in enumerate(cells, start=1):
        if cell.shape != (trials, features) or cell.dtype.kind not in "iuf":
            raise InputError(
                "the arrays do not fit together",
                participant=participant,
                file=file,
                field=f"feature, bin {number}",
                found=f"{' × '.join(map(str, cell.shape))} of {cell.dtype}",
                expected=f"{trials} trials (category_name) × {features} features (feature_name) of numbers",
                hint="save the classification data again",
            )


def _check_category(numbers: list[Any], names: list[str], file: Path, participant: str) -> None:
    pairs = set(zip(numbers, names))
    if len(numbers) != len(names) or len(pairs) != len(set(names)) or len(pairs) != len(set(numbers)):
        raise InputError(
            "category and category_name do not agree",
            participant=participant,
            file=file,
            field="category",
            found=f"{len(numbers)} and {len(names)} trials; pairs "
            + ", ".join(f"{number:g} {name}" for number, name in sorted(pairs, key=str)[:10]),
            expected="one number for each name",
            hint="save the classification data again",
        )
