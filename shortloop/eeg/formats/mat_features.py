"""Classification data in .mat files, as the MATLAB scripts of Bramão and the Python of Erickson
(UPTEC F 21013, Uppsala 2021) pass them between stages: features that were computed elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from shortloop.eeg.data import Features
from shortloop.eeg.formats.guarded import reading
from shortloop.eeg.formats.mat5 import NotMappable, open_struct
from shortloop.eeg.formats.mat73 import is_hdf5, variables
from shortloop.errors import InputError
from shortloop.span import Span
from shortloop.types import FloatArray

__all__ = ["Summary", "read", "summary_of"]

UNITS = {"amplitude": "V", "power": "V²"}
FIELDS = ("category_name", "feature_name", "feature")


def read(
    file: Path,
    *,
    kind: str,
    participant: str,
    phase: str,
    classes: Sequence[str],
    allocate: Callable[[tuple[int, ...]], FloatArray] = np.empty,
) -> Features:
    """Features of one participant in one phase.

    Parameters
    ----------
    file : Path
        The file: a struct named like the file, with ``category_name`` (trials), ``feature_name``
        (features) and ``feature``, a cell of trials × features for each bin.
    kind : {"amplitude", "power"}
        What the features are.
    participant, phase : str
        Whose and of which phase.
    classes : sequence of str
        Classes of the study. If all of them are in the file, trials of its other classes are dropped.
    allocate : callable, default numpy.empty
        Gives the float64 array of a shape that the data are read into, where they cannot be mapped.

    Returns
    -------
    Features
        Trials in the order of the file; the file names no times, so bins are numbered from 0. The data are
        a map of the file if it is not compressed and no trial is dropped.

    Raises
    ------
    InputError
        If the file is unreadable, lacks the struct or a field, its arrays do not fit together, or the
        study has a class that the file has not.
    """
    with reading(file, participant):
        content = _mapped(file) or _loaded(file, participant)
        names, cells = content.trials, content.cells
        _check_shapes(cells, len(names), len(content.features), file, participant)
        if content.category is not None:
            _check_category(content.category, names, file, participant)
        index = _classes(names, classes, phase, file, participant)
        chosen = np.array([trial for trial, name in enumerate(names) if name in index], dtype=np.intp)
        span = content.span if len(chosen) == len(names) else None
        if span is not None:
            data = cast(FloatArray, cells)
        else:
            data = allocate((len(cells), len(chosen), len(content.features)))
            for values, cell in zip(data, cells):
                values[:] = cell if len(chosen) == len(names) else cell[chosen]
    return Features(
        data=data,
        labels=np.array([index[names[trial]] for trial in chosen], dtype=np.int64),
        classes=tuple(classes),
        times=np.arange(len(cells), dtype=np.float64),
        names=content.features,
        kind=kind,
        unit=UNITS[kind],
        time_unit="bin",
        span=span,
    )


@dataclass(frozen=True)
class Summary:
    """What a file holds, without its features.

    Parameters
    ----------
    trials : tuple of str
        The class of each trial.
    first : str
        Name of the first feature.
    """

    trials: tuple[str, ...]
    first: str


def summary_of(file: Path, participant: str) -> Summary:
    """What a file holds, for a first look at it.

    Parameters
    ----------
    file, participant
        As of `read`.

    Returns
    -------
    Summary

    Raises
    ------
    InputError
        If it is not such a file.
    """
    content = _mapped(file) or _loaded(file, participant)
    return Summary(tuple(content.trials), content.features[0] if content.features else "")


@dataclass(frozen=True)
class _Content:
    """What a file holds; `span` says where the cells lie in it if they are maps of it."""

    trials: list[str]
    features: tuple[str, ...]
    category: list[Any] | None
    cells: Sequence[np.ndarray] | np.ndarray
    span: Span | None = None


def _mapped(file: Path) -> _Content | None:
    """Without a copy, if the file is such that it can be mapped."""
    try:
        with open_struct(file, file.stem) as struct:
            if not set(FIELDS) <= struct.fields.keys():
                return None
            span = struct.span("feature")
            return _Content(
                struct.texts("category_name"),
                tuple(struct.texts("feature_name")),
                struct.numbers("category") if "category" in struct.fields else None,
                span.map(file),
                span,
            )
    except NotMappable:
        return None


def _loaded(file: Path, participant: str) -> _Content:
    struct = _struct_of_hdf5(file, participant) if is_hdf5(file) else _struct(file, participant)
    return _Content(
        _texts(struct["category_name"]),
        tuple(_texts(struct["feature_name"])),
        np.ravel(struct["category"]).tolist() if "category" in struct else None,
        [np.asarray(cell) for cell in _cells(struct["feature"])],
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


def _classes(
    names: list[str], classes: Sequence[str], phase: str, file: Path, participant: str
) -> dict[str, int]:
    missing = [name for name in classes if name not in names]
    if missing:
        unknown = sorted(set(names) - set(classes))
        raise InputError(
            f"the {phase} phase has no trials of {', '.join(missing)}"
            + (f", but of {', '.join(unknown)}" if unknown else ""),
            participant=participant,
            file=file,
            field="category_name",
            found=", ".join(f"{names.count(name)} {name}" for name in sorted(set(names))) or "no trials",
            expected=f"trials of {', '.join(classes)}",
            hint="write the classes in the study file as the file spells them",
        )
    return {name: index for index, name in enumerate(classes)}
