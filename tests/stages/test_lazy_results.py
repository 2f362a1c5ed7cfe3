"""Arrays of a job are mapped once per process, and again when the file is another."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shortloop.stages.lazy_results import Arrays, KeptFrames
from shortloop.stages.records import Described
from shortloop.stages.results import Result, open_result
from shortloop.stages.stage import Finished, Stage
from shortloop.stages.task import Task

DESCRIBED: Described = {"shape": [3], "dtype": "float64", "axes": "rows", "description": "", "unit": ""}


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    np.save(tmp_path / "x.npy", np.arange(3.0))
    return Arrays(tmp_path, {"x": DESCRIBED}, {})


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_an_array_is_opened_once_unless_it_was_rewritten(arrays: Arrays, tmp_path: Path) -> None:
    first = arrays["x"]
    before = descriptors()
    others = [Arrays(tmp_path, {"x": DESCRIBED}, {})["x"] for _ in range(50)]
    assert descriptors() == before
    assert all(np.shares_memory(first, other) for other in others)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 5.0
    first.shape = (3, 1)  # which no other unit sees
    assert arrays["x"].tolist() == [0.0, 1.0, 2.0]
    np.save(tmp_path / "new.npy", np.arange(3.0) + 7)
    os.replace(tmp_path / "new.npy", tmp_path / "x.npy")
    assert arrays["x"].tolist() == [7.0, 8.0, 9.0]


def test_many_arrays_do_not_hold_many_descriptors(tmp_path: Path) -> None:
    names = [f"x{number}" for number in range(300)]
    for name in names:
        np.save(tmp_path / f"{name}.npy", np.arange(3.0))
    arrays = Arrays(tmp_path, dict.fromkeys(names, DESCRIBED), {})
    before = descriptors()
    assert sum(arrays[name].sum() for name in names) == 3.0 * len(names)
    assert descriptors() <= before + 64


def frame() -> pd.DataFrame:
    """A column of each type that jobs keep."""
    days = pd.to_datetime(["2020", "2021", "2022"])
    columns = {
        "x": [1.0, 2, 3],
        "n": [1, 2, 3],
        "text": ["x", "y", "z"],
        "kind": pd.Categorical(["u", "v", "u"]),
        "day": days,
        "zoned": days.tz_localize("UTC"),
        "whole": pd.array([1, None, 3], dtype="Int64"),
        "arrow": pd.array([1.0, 2, 3], dtype="float64[pyarrow]"),
        "string": pd.array(["a", "b", "c"], dtype="string[pyarrow]"),
    }
    return pd.DataFrame(columns, index=pd.Index([5, 6, 7], name="k"))


CHANGES: list[Callable[[pd.DataFrame], object]] = [
    *[lambda rows, name=name: rows[name].array.__setitem__(0, rows[name].array[2]) for name in frame()],
    *[lambda rows, place=place: rows.iloc.__setitem__((0, place), rows.iloc[2, place]) for place in range(9)],
    lambda rows: rows["x"].to_numpy().sort(),
    lambda rows: rows["x"].to_numpy().setflags(write=True),
    lambda rows: rows.sort_values("x", ascending=False, inplace=True),
    lambda rows: rows.insert(0, "new", 1),
    lambda rows: rows.pop("x"),
    lambda rows: rows.drop(index=5, inplace=True),
    lambda rows: rows.attrs.update(x=1),
    lambda rows: setattr(rows.index, "name", "other"),
    lambda rows: setattr(rows.columns, "name", "other"),
    lambda rows: setattr(rows["kind"].cat.categories, "name", "other"),
    lambda rows: rows.index.to_numpy().__setitem__(0, 9),
    lambda rows: rows.eval("x = x + n", inplace=True),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_unit_does_to_a_frame_no_other_sees(change: Callable[[pd.DataFrame], object]) -> None:
    kept = KeptFrames()
    given: Any = kept.get("a", "pandas", frame)
    try:
        change(given)
    except ValueError as error:
        assert "read-only" in str(error) or "WRITEABLE" in str(error)  # noqa: PT017  or it changes nothing
    again: Any = kept.get("a", "pandas", frame)
    pd.testing.assert_frame_equal(again, frame())
    assert (again.attrs, again["kind"].cat.categories.name) == ({}, None)


def test_frames_of_polars_and_objects_in_a_frame() -> None:
    kept, reads = KeptFrames(), []

    def read() -> pl.DataFrame:
        reads.append(1)
        return pl.DataFrame({"x": [1.0, 2], "text": ["a", "b"], "lists": [[1], [2, 3]]})

    one: Any = kept.get("a", "polars", read)
    one[0, "x"] = 9.0
    one.insert_column(0, pl.Series("new", [1, 2]))
    two: Any = kept.get("a", "polars", read)
    assert (two.columns, two["x"].to_list(), len(reads)) == (["x", "text", "lists"], [1.0, 2.0], 1)

    def read_objects() -> pd.DataFrame:
        return pd.DataFrame({"odd": pd.Series([[1], {"a": 1}]), "x": [1.0, 2.0]})

    given: Any = kept.get("b", "pandas", read_objects)
    given["odd"][0].append(2)
    given["odd"][1]["a"] = 2
    given.loc[0, "x"] = 9.0  # as in frames without objects
    assert given["x"].tolist() == [9.0, 2.0]
    again: Any = kept.get("b", "pandas", read_objects)
    pd.testing.assert_frame_equal(again, read_objects())


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A job with an array, a table and names."""
    from shortloop.stages.output import write_output
    from shortloop.stages.stage import Values

    class Numbers(Stage):
        def finish(self, out: object) -> Finished:
            values = Values(np.arange(50.0), "rows", "")
            facts = {"names": [f"n{number}" for number in range(50)], "pair": (1, 2)}
            return Finished(facts, {"values": values}, tables={"table": pd.DataFrame({"x": np.arange(50.0)})})

    folder = tmp_path / "main-1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_output(Numbers(), Task("numbers", "", "", None, {}, {}), {}, [])
    return open_result(folder)
