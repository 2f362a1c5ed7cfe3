"""What units give is kept as it is, put together as NumPy would, and refused where that would change it."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from refusal import refusal

from shortloop.base.errors import InputError
from shortloop.stages.content import SIZE
from shortloop.stages.failures import Tried, check_missing, failed_units, text_of, tried, with_failed
from shortloop.stages.needs import Needs
from shortloop.stages.objects import Objects
from shortloop.stages.rows import FOR_OTHERS, FOR_THIS_JOB, pack, read_rows, stacked, unpack, write_rows
from shortloop.stages.tables import read_table, save_table

SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
)
ARRAYS = npst.arrays(
    st.one_of(npst.scalar_dtypes(), npst.unicode_string_dtypes(max_len=4)).filter(
        lambda dtype: dtype.kind != "S"
    ),
    npst.array_shapes(min_dims=0, max_dims=3, min_side=0),
)


@given(st.dictionaries(st.text(min_size=1), SCALARS | ARRAYS, min_size=1))
def test_all_comes_back(values: dict[str, Any]) -> None:
    found = unpack(pack(values, "unit"))
    assert [*found] == [*values]
    for name, value in values.items():
        wanted = np.asarray(value)
        kept = found[name]
        assert isinstance(kept, np.ndarray)
        assert kept.dtype == wanted.dtype.newbyteorder("<")
        np.testing.assert_array_equal(kept, wanted)


@pytest.mark.parametrize(
    "given_",
    [None, 1.0, [1], {}, {"x": lambda: 1}, {"x": [1, threading.Lock()]}, {"x": (each for each in "ab")}],
)
def test_what_cannot_be_kept_is_refused(given_: Any) -> None:
    with refusal("F7 of fit"):
        pack(given_, "F7 of fit")


def put(*units: dict[str, Any]) -> Any:
    rows = [unpack(pack(each, "unit")) for each in units]
    return stacked([f"u{number}" for number in range(len(units))], rows, "fit")


def test_values_become_arrays_over_units_and_tables_one() -> None:
    arrays, tables, _ = put(
        {"a": 1, "b": "x", "c": [1.0, 2.0]}, {"a": 2.5, "b": "long", "c": [3.0, math.nan]}
    )
    assert tables == {}
    assert arrays["a"].values.tolist() == [1.0, 2.5]
    assert arrays["b"].values.tolist() == ["x", "long"]
    np.testing.assert_array_equal(arrays["c"].values, [[1, 2], [3, math.nan]])
    assert [arrays[name].axes for name in "abc"] == ["units", "units", "units × …"]
    _, tables, _ = put({"t": pd.DataFrame({"x": [1, 2]})}, {"t": pd.DataFrame({"x": [3]})})
    assert tables["t"].to_dict("list") == {"unit": ["u0", "u0", "u1"], "x": [1, 2, 3]}


@pytest.mark.parametrize(
    ("units", "said"),
    [
        ([{"a": 1}, {"b": 1}], "values of other names"),
        ([{"a": 1}, {"a": 1, "b": 2}], "values of other names"),
        ([{"a": [1, 2]}, {"a": [1]}], r"a of other shapes[\s\S]*frames"),
        ([{"a": 1}, {"a": [1]}], "a of other shapes"),
        ([{"a": 1}, {"a": "1"}], "a of other types"),
        ([{"a": 1}, {"a": 2**70}], r"a of other types[\s\S]*an int of more than 64 bits of unit u1"),
        ([{"a": np.datetime64("2026-01-01")}, {"a": 1}], "a of other types"),
        ([{"a": 2**60 + 1}, {"a": 0.5}], "a too large for float64"),
        ([{"a": np.uint64(2**63 + 1)}, {"a": -1}], "a too large for float64"),
        (
            [{"a": pd.DataFrame({"x": [1]})}, {"a": pd.DataFrame({"y": [1]})}],
            r"tables a of other columns[\s\S]*astype",
        ),
        ([{"a": pd.DataFrame({"x": [1]})}, {"a": pd.DataFrame({"x": ["a"]})}], "tables a of other columns"),
        ([{"a": pd.DataFrame({"x": [1]})}, {"a": 1}], "tables a of other columns"),
    ],
)
def test_what_differs_between_units_is_named(units: list[dict[str, Any]], said: str) -> None:
    with refusal(f"units of fit give {said}") as caught:
        put(*units)
    assert "u1" in str(caught.value) or "unit u0" in str(caught.value)


def test_rows_are_found_by_their_keys_unless_they_hold_for_one_job(tmp_path: Path) -> None:
    rows = [bytes([number]) * SIZE + FOR_OTHERS + pack({"x": number}, "u") for number in range(5)]
    write_rows(tmp_path / "rows", rows)
    wanted = {row[:SIZE]: row for row in rows[1:4]}
    assert read_rows(tmp_path / "rows", {*wanted, bytes(SIZE - 1) + b"x"}) == wanted
    assert read_rows(tmp_path / "rows", {}) == {}
    write_rows(tmp_path / "rows", [])
    assert read_rows(tmp_path / "rows", wanted) == {}
    keys = [bytes([number]) * SIZE for number in range(4)]
    rows = [key + mark + b"x" for key, mark in zip(keys, [FOR_OTHERS, FOR_THIS_JOB] * 2)]
    write_rows(tmp_path / "rows", rows)
    assert [*read_rows(tmp_path / "rows", keys)] == [keys[0], keys[2]]


def test_a_file_of_rows_that_is_gone_or_damaged_gives_none(tmp_path: Path) -> None:
    """Cut off anywhere, longer, or another file altogether; a row that is found is one that was written."""
    rows = [bytes([number]) * SIZE + FOR_OTHERS + b"row" * number for number in range(3)]
    keys, file = [row[:SIZE] for row in rows], tmp_path / "rows"
    write_rows(file, rows)
    whole = file.read_bytes()
    assert read_rows(tmp_path / "none", keys) == read_rows(tmp_path, keys) == {}
    for other in [*(whole[:end] for end in range(len(whole))), whole + b"x", b"\xff" * 99, b"{}", bytes(64)]:
        file.write_bytes(other)
        assert read_rows(file, keys) == {}, other
    for place in range(len(whole) - sum(map(len, rows))):  # before the rows
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_rows(file, keys).items() <= {row[:SIZE]: row for row in rows}.items()


def failing(*errors: BaseException) -> Callable[[], str]:
    left = list(errors)

    def compute() -> str:
        if left:
            raise left.pop(0)
        return "values"

    return compute


def test_a_unit_that_fails_is_computed_again() -> None:
    both = ["ValueError: one", "KeyError: 'two'"]
    errors = (ValueError("one"), KeyError("two"))
    assert tried(Needs(retries=2), failing(*errors)) == Tried("values", both)
    assert tried(Needs(retries=2), failing()) == "values"
    with pytest.raises(KeyError) as error:
        tried(Needs(retries=1), failing(*errors))
    assert error.value.__notes__ == [f"computed 2 times: {'; '.join(both)}"]
    kept = tried(Needs(retries=1, on_error="keep"), failing(ValueError(), InputError("a bad file", file="x")))
    assert kept.values is None
    assert kept.errors == ["ValueError", "InputError: a bad file file: x"]
    assert "in compute" in kept.traceback
    assert "stages/failures.py" not in kept.traceback


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_what_ends_a_run_is_neither_kept_nor_tried_again(error: BaseException) -> None:
    with pytest.raises(type(error)):
        tried(Needs(retries=3, on_error="keep"), failing(error))


def test_a_unit_that_takes_too_long_fails() -> None:
    before = signal.getsignal(signal.SIGALRM)

    def slow() -> None:
        try:
            time.sleep(30)
        except Exception:
            time.sleep(30)

    begun = time.monotonic()
    kept = tried(Needs(timeout=0.1, on_error="keep"), slow)
    assert kept.errors == ["TimeoutError: took over 0.1 s"]
    assert "in slow" in kept.traceback
    with pytest.raises(TimeoutError, match=r"took over 0\.1 s"):
        tried(Needs(timeout=0.1), slow)
    assert time.monotonic() - begun < 10
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert tried(Needs(timeout=60.0), failing()) == "values"


def test_an_error_is_one_line_alike_in_each_process() -> None:
    assert text_of(ValueError()) == "ValueError"
    assert text_of(ValueError("two\n  lines")) == "ValueError: two lines"
    assert text_of(ValueError("at 0x7f0123456789")) == "ValueError: at 0x…"
    assert text_of(ValueError("\udcff")) == "ValueError: \\udcff"
    assert len(text_of(ValueError("x" * 10**6))) == 300
    errors = {"units": 120, "failed": [[f"sub-{unit}", ""] for unit in range(5)]}
    assert failed_units(errors, 2) == "5 of 120 units failed: sub-0, sub-1, and 3 more"
    assert failed_units({"units": 3, "failed": [[2, ""]]}, 2) == "1 of 3 units failed: 2"


@pytest.mark.parametrize("kind", ["i8", "u1", "?", "S3", "V4"])
def test_outputs_without_a_missing_value_are_refused(kind: str) -> None:
    with refusal("an output has no missing value"):
        check_missing("fit", {"fine": np.zeros(2), "counts": np.zeros(2, kind)})
    check_missing("fit", {name: np.zeros(2, name) for name in ("f4", "c16", "M8[s]", "m8[D]", "U5")})


NAMES: Any = ["a", ["b", 1], 3, "d"]
ERRORS = {1: "ValueError: b", 3: "KeyError: d"}


def kept(**values: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What two units of four gave, and the errors of the others."""
    rows = [unpack(pack({name: each[unit] for name, each in values.items()}, "it")) for unit in (0, 1)]
    return with_failed(NAMES, *stacked(["a", 3], rows, "it"), ERRORS)


def test_arrays_hold_missing_values() -> None:
    day = np.datetime64("2020-01-01")
    arrays, _, _ = kept(
        x=(0.5, 1.5),
        n=(1, 2),
        good=(True, False),
        text=("long", "b"),
        day=(day, day),
        two=([1.0, 2.0], [3.0, 4.0]),
    )
    values = {name: each.values for name, each in arrays.items()}
    assert np.array_equal(values["x"], [0.5, np.nan, 1.5, np.nan], equal_nan=True)
    assert np.array_equal(values["n"], [1, np.nan, 2, np.nan], equal_nan=True)
    assert np.array_equal(values["good"], [1, np.nan, 0, np.nan], equal_nan=True)
    assert values["text"].tolist() == ["long", "", "b", ""]
    assert np.isnat(values["day"]).tolist() == [False, True, False, True]
    assert np.isnan(values["two"][1]).all()
    assert values["two"][2].tolist() == [3.0, 4.0]
    with refusal("too large to be kept beside missing values"):
        kept(n=(2**53 + 1, 0))
    with refusal("the name of the errors"):
        kept(unit_error=(1.0, 2.0))
    with refusal("table rows"):
        kept(rows=[pd.DataFrame({"unit_error": [1]})] * 2)


def frame(library: Any, unit: int) -> Any:
    return library.DataFrame(
        {"x": [0.5, unit], "n": [unit, 2], "good": [True, False], "text": ["a", None], "kind": ["u", "v"]}
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_tables_are_read_as_they_were(library: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for errors in (ERRORS, {}):
        names = ["a", "b", "c", "d"] if errors else ["a", "c"]
        rows = [unpack(pack({"rows": frame(library, unit)}, "it")) for unit in (7, 8)]
        table = with_failed(names, *stacked(["a", "c"], rows, "it"), errors)[1]["rows"]
        described = save_table("rows", table)
        found: Any = read_table(tmp_path / "rows.parquet", described)
        assert found.equals(table)
        units = ["a", "a", "b", "c", "c", "d"] if errors else ["a", "a", "c", "c"]
        assert [*found["unit"]] == units
        assert [str(found[name].dtype) for name in ("n", "unit_error")] == (
            ["Int64", "string"] if library is pd else ["Int64", "String"]
        )


def test_objects_stay_with_their_units(tmp_path: Path) -> None:
    _, _, objects = kept(model=[{1: {name}} for name in "xy"])
    (model,) = objects.values()
    (tmp_path / "model.pkl").write_bytes(model.data)
    read = Objects(tmp_path, {"model": model.described}, lambda: NAMES, lambda file: None)["model"]
    assert [read[name] for name in NAMES] == [{1: {"x"}}, None, {1: {"y"}}, None]  # type: ignore[index]
