"""Names of axes are read from what stages say, and what is said to stand along them is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortloop.base.plain import Plain
from shortloop.stages.records import Array, Described, axes_of, save_array, write_record
from shortloop.stages.results import open_result

FACTS: dict[str, Plain] = {"names": ["x", "y", "z"], "text": "xyz", "of": {"names": ["x", "y", "z"]}}


def described(axes: str, ndim: int) -> Described:
    return {"axes": axes, "description": "", "unit": "", "shape": [2] * ndim, "dtype": "float64"}


@pytest.mark.parametrize(
    ("text", "ndim", "names"),
    [
        ("groups × coefficients", 2, ("groups", "coefficients")),
        ("groups x coefficients", 2, ("groups", "coefficients")),
        ("test  bins ×\ttraining bins", 2, ("test  bins", "training bins")),
        ("boxes", 1, ("boxes",)),
        ("trials of x × channels of x", 2, ("trials of x", "channels of x")),
        ("units × …", 1, ("units",)),
        ("units × …", 3, ("units", "", "")),
        ("…", 2, ("", "")),
        ("units × …", 0, ()),
        ("", 0, ()),
        ("", 2, ("", "")),
        ("rows", 2, ("", "")),  # nobody knows which of them
        ("rows × columns", 1, ("",)),
        ("rows × columns × …", 1, ("",)),
    ],
)
def test_names_of_axes(text: str, ndim: int, names: tuple[str, ...]) -> None:
    assert axes_of(described(text, ndim)) == names


def write(folder: Path, coordinates: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        save_array("values", np.zeros((3, 2)))
        save_array("places", np.arange(2.0))
        save_array("table", np.zeros((2, 2)))
        save_array("more", np.zeros(5))
        arrays = {
            "values": Array("rows × columns", ""),
            "places": Array("columns", ""),
            "table": Array("columns × lines", ""),
            "more": Array("lines", ""),
        }
        write_record("made", None, arrays, facts=FACTS, coordinates=coordinates)


def test_coordinates_are_in_the_record(tmp_path: Path) -> None:
    write(tmp_path, {"rows": "names", "columns": "places"})
    assert open_result(tmp_path).record["coordinates"] == {"rows": "names", "columns": "places"}
    write(tmp_path, {})
    assert "coordinates" not in open_result(tmp_path).record


@pytest.mark.parametrize(
    ("axis", "name", "message"),
    [
        ("depth", "names", r"in the lengths \[\]"),
        ("lines", "more", r"in the lengths \[2, 5\]"),
        ("rows", "other", "no fact"),
        ("rows", "text", "no fact that is a list"),
        ("rows", "of", "no fact that is a list"),
        ("columns", "names", "of the same length"),
        ("columns", "table", "an array of the axes 'columns × lines'"),
        ("rows", "places", "an array of the axes 'columns'"),
    ],
)
def test_what_is_not_along_an_axis_is_refused(tmp_path: Path, axis: str, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write(tmp_path, {axis: name})
