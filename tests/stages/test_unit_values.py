"""Units fill each element of their outputs, and each once."""

from __future__ import annotations

from typing import Any

import pytest

from shortloop.stages.output import check_coverage
from shortloop.stages.stage import Out, Stage

OUTS = {"a": Out((4, 3), "f8", "x × y", ""), "b": Out((4,), "f8", "x", "")}


class Units(Stage):
    """Which belong where the test says."""

    indices: Any = None

    def index(self, unit: int) -> Any:
        return self.indices[unit]


def check(indices: list[Any], have: int = 0) -> None:
    stage = Units()
    stage.indices, stage.have = indices, have
    check_coverage(stage, OUTS, len(indices))


@pytest.mark.parametrize(
    ("indices", "have"),
    [
        ([0, 1, 2, 3], 0),
        ([-1, 0, 2, 1], 0),
        ([slice(0, 3), 3], 0),
        ([slice(None, None, 2), slice(1, None, 2)], 0),
        ([2, 3], 2),
        ([], 4),
        ([{"a": (slice(None), y)} for y in range(3)] + [{"b": slice(None)}], 0),
        ([{"a": (x, y)} for x in range(4) for y in range(3)] + [{"b": x} for x in range(4)], 0),
        ([{"a": 0, "b": slice(None)}, {"a": (1, slice(None))}, {"a": (slice(2, 4), slice(0, 3))}], 0),
    ],
)
def test_each_element_once(indices: list[Any], have: int) -> None:
    check(indices, have)


@pytest.mark.parametrize(
    ("indices", "have", "said"),
    [
        ([0, 1, 2], 0, r"0 units fill \[3\] of a of Units, of shape \(4, 3\)"),
        ([0, 1, 2, 2], 0, r"2 units fill \[2\] of a"),
        ([0, 0, 0, 0], 0, r"4 units fill \[0\] of a"),
        ([0, 1, 2, 3, 4], 0, "the index of a unit is outside of a of Units: index 4 is out of bounds"),
        ([1, 2, 3], 2, r"2 units fill \[1\]"),  # a row of the job before, computed again
        ([3], 2, r"0 units fill \[2\]"),
        ([], 0, r"0 units fill \[0\]"),
        ([(0, 0), 0, 1, 2, 3], 0, r"2 units fill \[0, 0\] of a"),
        ([{"a": slice(None)}], 0, r"0 units fill \[0\] of b"),
        ([{"c": 0}], 0, r"index\(0\) of Units names c; its outputs are a, b"),
    ],
)
def test_others_are_named(indices: list[Any], have: int, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        check(indices, have)


@pytest.mark.parametrize(("units", "is_right"), [(4, True), (3, False), (5, False), (0, False)])
def test_without_an_index_the_first_axis_is_the_units(units: int, is_right: bool) -> None:
    if is_right:
        check_coverage(Stage(), OUTS, units)
    else:
        with pytest.raises(ValueError, match=f"Stage has {units} units, and the first axis of its output a"):
            check_coverage(Stage(), OUTS, units)


def test_nothing_is_to_be_filled_in_what_is_empty() -> None:
    check_coverage(Units(), {"a": Out((3, 0), "f8", "", "")}, 0)
    check_coverage(Stage(), {}, 5)
