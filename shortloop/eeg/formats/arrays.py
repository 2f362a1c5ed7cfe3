"""Ready-made features in NumPy arrays: X and y in one .npz, or each in its own .npy."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from shortloop.base.errors import InputError
from shortloop.eeg.checks.plausible import FAR
from shortloop.eeg.formats.recording_format import FeaturesInput, Found, check_keys
from shortloop.eeg.headers import numpy_files
from shortloop.eeg.headers.units import Unit

if TYPE_CHECKING:
    import numpy as np

KEYS = ("X", "y", "names", "t")


class ArraysInput(FeaturesInput):
    """Arrays: X (trials × features, or trials × features × bins) and y (trials), in one .npz or two .npy.

    An .npz may have ``names`` (features) and ``t`` (bins, s), too. Values of y are compared as text.
    """

    places = FeaturesInput.places | {"labels"}
    classes_in = "y"
    remedy = "leave it out of X, and save the file again"
    format: Literal["arrays"] = Field(description="ready-made features in .npz or .npy")
    labels: dict[str, str] = Field(
        {}, description="file of the classes of each phase, where features are .npy; default: y of the .npz"
    )
    unit: Unit = Field("a.u.", description="unit of X, taken as it is; 'a.u.' (arbitrary) is the default")

    def check_phases(self, phases: tuple[str, ...], classes: tuple[str, ...], kinds: tuple[str, ...]) -> None:
        super().check_phases(phases, classes, kinds)
        if self.labels:
            check_keys("input.labels", self.labels, phases[:1], phases)

    def warm_up(self) -> None:
        import numpy as np  # noqa: F401

    def files_of_labels(self) -> Mapping[str, str]:
        return self.labels

    def unit_of(self, kind: str) -> str:
        return self.unit

    def declared(self, file: Path, participant: str) -> int:
        return numpy_files.declared(file, KEYS)

    def find_in(self, file: Path, labels: Path | None, participant: str, phase: str) -> Found:
        arrays = _arrays(file, labels)
        data, y = arrays["X"], arrays["y"]
        _check(**arrays)
        bins = data.transpose(2, 0, 1) if data.ndim == 3 else data[None]
        numbered = (f"feature {number}" for number in range(1, bins.shape[2] + 1))
        names = map(numpy_files.as_text, arrays["names"]) if "names" in arrays else numbered
        times = arrays["t"].astype("float64") if "t" in arrays else None
        return Found([numpy_files.as_text(value) for value in y], tuple(names), bins, times)


def _arrays(file: Path, labels: Path | None) -> dict[str, np.ndarray]:
    import numpy as np

    if zipfile.is_zipfile(file):
        with np.load(file, allow_pickle=False) as content:
            found = {key: numpy_files.read_array(content, key) for key in KEYS if key in content.files}
            others = [key for key in content.files if key not in KEYS]
    else:
        found, others = {"X": numpy_files.read_array(None, "X", file)}, []
    if labels is not None:
        found["y"] = numpy_files.read_array(None, "y", labels)
    hint = "save both with numpy.savez(file, X=X, y=y), or name a file of labels (input.labels)"
    numpy_files.refuse_missing(KEYS[:2], [*found, *others], hint)
    if found["y"].ndim == 2 and 1 in found["y"].shape:
        found["y"] = found["y"].ravel()
    return found


def _check(
    X: np.ndarray, y: np.ndarray, names: np.ndarray | None = None, t: np.ndarray | None = None
) -> None:
    bins = X.shape[2] if X.ndim == 3 else 1
    fits = X.ndim in (2, 3) and y.shape == X.shape[:1]
    fits = fits and (names is None or names.shape == X.shape[1:2]) and (t is None or t.shape == (bins,))
    if not fits:
        given = {"X": X, "y": y, "names": names, "t": t}
        found = ", ".join(f"{name} {each.shape}" for name, each in given.items() if each is not None)
        expected = "X (trials, features[, bins]), y (trials), names (features), t (bins)"
        raise InputError("the arrays do not fit together", field="X", found=found, expected=expected)
    numpy_files.refuse_other_types({"X": X} if t is None else {"X": X, "t": t})
    if t is not None and abs(t.astype("float64")).max(initial=0) >= FAR:
        problem = "times of bins cannot be meant in seconds"
        found = f"from {t.min():g} to {t.max():g}"
        expected = f"less than {FAR:g} s from the event"
        hint = "save them in seconds: t / 1000, if they are in milliseconds"
        raise InputError(problem, field="t", found=found, expected=expected, hint=hint)
