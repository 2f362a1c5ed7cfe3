"""Arrays of a job are mapped once per process, and again when the file is another."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from shortloop.stages.lazy_results import Arrays
from shortloop.stages.records import Described

DESCRIBED: Described = {"shape": [3], "dtype": "float64", "axes": "rows", "description": "", "unit": ""}


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    np.save(tmp_path / "x.npy", np.arange(3.0))
    return Arrays(tmp_path, {"x": DESCRIBED}, {})


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_an_array_is_opened_once(arrays: Arrays, tmp_path: Path) -> None:
    first = arrays["x"]
    before = descriptors()
    others = [Arrays(tmp_path, {"x": DESCRIBED}, {})["x"] for _ in range(50)]
    assert descriptors() == before
    assert all(np.shares_memory(first, other) for other in others)


def test_a_rewritten_array_is_opened_again(arrays: Arrays, tmp_path: Path) -> None:
    assert arrays["x"].tolist() == [0.0, 1.0, 2.0]
    np.save(tmp_path / "new.npy", np.arange(3.0) + 7)
    os.replace(tmp_path / "new.npy", tmp_path / "x.npy")
    assert arrays["x"].tolist() == [7.0, 8.0, 9.0]


def test_what_a_unit_does_to_an_array_no_other_sees(arrays: Arrays) -> None:
    one = arrays["x"]
    with pytest.raises(ValueError, match="read-only"):
        one[0] = 5.0
    one.shape = (3, 1)
    assert arrays["x"].shape == (3,)


def test_many_arrays_do_not_hold_many_descriptors(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(300)]
    for name in names:
        np.save(tmp_path / f"{name}.npy", np.arange(3.0))
    arrays = Arrays(tmp_path, dict.fromkeys(names, DESCRIBED), {})
    before = descriptors()
    assert sum(arrays[name].sum() for name in names) == 3.0 * len(names)
    assert descriptors() <= before + 64
