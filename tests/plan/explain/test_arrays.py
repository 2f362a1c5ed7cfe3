"""How the arrays of two jobs differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jobs_recorded import result_with

from shortloop.plan.explain.arrays import ArrayDifference, array_differences


def test_differences_of_arrays(tmp_path: Path) -> None:
    nan = np.nan
    one = result_with(
        tmp_path / "a", same=[1.0, nan], numbers=[[1, 2], [3, 4]], words=["a", "b"], shape=[1], gone=[1]
    )
    other = result_with(
        tmp_path / "b", same=[1.0, nan], numbers=[[1, 2], [3, 9]], words=["a", "c"], shape=[1, 2], more=[1.0]
    )
    assert list(array_differences(one, other)) == [
        ArrayDifference("same", "2 float64", "2 float64", 0, None),
        ArrayDifference("numbers", "2 × 2 int64", "2 × 2 int64", 1, 5.0),
        ArrayDifference("words", "2 <U1", "2 <U1", 1, None),
        ArrayDifference("shape", "1 int64", "2 int64", None, None),
        ArrayDifference("gone", "1 int64", "", None, None),
        ArrayDifference("more", "", "1 float64", None, None),
    ]


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_number_that_became_none_differs(tmp_path: Path, value: float) -> None:
    one, other = result_with(tmp_path / "a", x=[1.0, 2.0]), result_with(tmp_path / "b", x=[1.0, value])
    (found,) = array_differences(one, other)
    assert found.differ == 1
