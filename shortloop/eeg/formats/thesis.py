"""Classification data in .mat files: ready-made features, as the MATLAB scripts of Bramão and the Python of
Erickson (UPTEC F 21013, Uppsala 2021) pass them between stages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.formats.recording_format import FeaturesInput, Found
from shortloop.eeg.headers.mat import read_struct, variables

if TYPE_CHECKING:
    import numpy as np

FIELDS = ("category_name", "feature_name", "feature")


class ThesisInput(FeaturesInput):
    """Classification data in .mat files: features that were computed elsewhere."""

    classes_in = "category_name"
    format: Literal["thesis"] = Field(description=".mat classification data")

    def warm_up(self) -> None:
        import h5py  # noqa: F401

        import shortloop.eeg.headers.mat5  # noqa: F401

    def unit_of(self, kind: str) -> str:
        return {"amplitude": "V", "power": "V²"}[kind]

    def find_in(self, file: Path, labels: Path | None, participant: str, phase: str) -> Found:
        found, category = _mapped(file) or _loaded(file)
        _check_shapes(found.cells, len(found.trials), len(found.features))
        if category is not None:
            _check_category(category, found.trials)
        return found


def _mapped(file: Path) -> tuple[Found, list[float] | None] | None:
    """Map trials and their numeric classes, if the layout of the file allows it."""
    from shortloop.eeg.headers.mat5 import NotMappable, open_struct

    try:
        with open_struct(file, file.stem) as struct:
            if not set(FIELDS) <= struct.fields.keys():
                return None
            span = struct.span("feature")
            trials, features = struct.texts("category_name"), tuple(struct.texts("feature_name"))
            category = struct.numbers("category") if "category" in struct.fields else None
            return Found(trials, features, span.map(file), span=span), category
    except NotMappable:
        return None


def _loaded(file: Path) -> tuple[Found, list[float] | None]:
    import numpy as np

    names = variables(file)
    struct = read_struct(file, file.stem) if file.stem in names else None
    if not isinstance(struct, dict):
        wrong = "the file has no struct of its own name"
        field = file.stem
        what = ", ".join(names) or "no variables"
        advice = "give the file the name that the struct had when it was saved"
        raise InputError(wrong, field=field, found=what, expected=f"a struct named {file.stem}", hint=advice)
    if missing := [name for name in FIELDS if name not in struct]:
        problem = f"the struct has no field {', '.join(missing)}"
        found = ", ".join(struct)
        hint = "save the classification data with all fields"
        raise InputError(problem, field=file.stem, found=found, expected=", ".join(FIELDS), hint=hint)
    trials, features = ([str(each).rstrip() for each in np.ravel(struct[name])] for name in FIELDS[:2])
    feature = struct["feature"]
    cells = [np.asarray(each) for each in (feature if isinstance(feature, list) else [feature])]
    # The reader drops dimensions of length 1.
    shape = len(trials), len(features)
    cells = [
        each.reshape(shape) if each.ndim < 2 and 1 in shape and each.size == max(shape) else each
        for each in cells
    ]
    category = np.ravel(struct["category"]).tolist() if "category" in struct else None
    return Found(trials, tuple(features), cells), category


def _check_shapes(cells: Sequence[np.ndarray] | np.ndarray, trials: int, features: int) -> None:
    for number, cell in enumerate(cells, start=1):
        if cell.shape != (trials, features) or cell.dtype.kind not in "iuf":
            problem = "the arrays do not fit together"
            field = f"feature, bin {number}"
            found = f"{' × '.join(map(str, cell.shape))} of {cell.dtype}"
            expected = f"{trials} trials (category_name) × {features} features (feature_name) of numbers"
            hint = "save the classification data again"
            raise InputError(problem, field=field, found=found, expected=expected, hint=hint)


def _check_category(numbers: list[Any], names: list[str]) -> None:
    pairs = set(zip(numbers, names))
    if len(numbers) != len(names) or len(pairs) != len(set(names)) or len(pairs) != len(set(numbers)):
        problem = "category and category_name do not agree"
        some = ", ".join(f"{number:g} {name}" for number, name in sorted(pairs, key=str)[:10])
        found = f"{len(numbers)} and {len(names)} trials; pairs {some}"
        raise InputError(problem, field="category", found=found, hint="save the classification data again")
