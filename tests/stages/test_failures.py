"""Units that fail: computed again, ended when they take too long, and put into one line."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shortloop.base.errors import InputError
from shortloop.stages.failures import (
    Tried,
    check_missing,
    failed_units,
    objects_with_failed,
    text_of,
    tried,
    with_failed,
)
from shortloop.stages.needs import Needs
from shortloop.stages.objects import Objects
from shortloop.stages.rows import stacked
from shortloop.stages.tables import read_table, save_table


def failing(*errors: BaseException) -> Callable[[], str]:
    left = list(errors)

    def compute() -> str:
        if left:
            raise left.pop(0)
        return "values"

    return compute


def test_a_unit_that_fails_is_computed_again() -> None:
    first, second = ValueError("one"), KeyError("two")
    assert tried(Needs(retries=2), failing(first, second)) == Tried(
        "values", ["ValueError: one", "KeyError: 'two'"]
    )
    assert tried(Needs(retries=2), failing()) == "values"


def test_the_last_error_ends_the_job_and_says_the_others() -> None:
    with pytest.raises(KeyError) as error:
        tried(Needs(retries=1), failing(ValueError("one"), KeyError("two")))
    assert error.value.__notes__ == ["computed 2 times: ValueError: one; KeyError: 'two'"]


def test_an_error_that_is_kept_has_a_traceback() -> None:
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


@pytest.mark.parametrize("kind", ["i8", "u1", "?", "S3", "V4"])
def test_outputs_without_a_missing_value_are_refused(kind: str) -> None:
    with pytest.raises(InputError, match="an output has no missing value"):
        check_missing("fit", {"fine": np.zeros(2), "counts": np.zeros(2, kind)})
    check_missing("fit", {name: np.zeros(2, name) for name in ("f4", "c16", "M8[s]", "m8[D]", "U5")})


NAMES: Any = ["a", ["b", 1], 3, "d"]
ERRORS = {1: "ValueError: b", 3: "KeyError: d"}


def given(**values: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What two units of four gave, and the errors of the others."""
    from shortloop.stages.rows import pack, unpack

    rows = [unpack(pack({name: each[unit] for name, each in values.items()}, "it")) for unit in (0, 1)]
    arrays, tables, _ = stacked(["a", 3], rows, "it")
    return with_failed(NAMES, arrays, tables, ERRORS)


def test_arrays_hold_missing_values() -> None:
    day = np.datetime64("2020-01-01")
    arrays, _ = given(
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


def test_numbers_that_floats_cannot_hold_are_refused() -> None:
    with pytest.raises(InputError, match="too large to be kept beside missing values"):
        given(n=(2**53 + 1, 0))


def frame(library: Any, unit: int) -> Any:
    return library.DataFrame(
        {"x": [0.5, unit], "n": [unit, 2], "good": [True, False], "text": ["a", None], "kind": ["u", "v"]}
    )


def test_tables_of_pandas_have_a_row_for_each(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    frames = [
        frame(pd, unit).assign(
            day=pd.Timestamp("2020-01-01"), kind=lambda rows: rows["kind"].astype("category")
        )
        for unit in (7, 8)
    ]
    _, tables = given(rows=frames)
    table = tables["rows"]
    assert table["unit"].tolist() == ["a", "a", "['b', 1]", 3, 3, "d"]
    assert table["unit_error"].tolist()[2] == "ValueError: b"
    assert table["unit_error"].tolist()[5] == "KeyError: d"
    assert table["unit_error"].isna().tolist() == [True, True, False, True, True, False]
    assert table.iloc[2].drop(["unit", "unit_error"]).isna().all()
    types = {name: str(kind) for name, kind in table.dtypes.items()}
    assert types["n"] == "Int64"
    assert types["good"] == "boolean"
    assert types["kind"] == "category"
    assert types["day"].startswith("datetime64")
    assert table["n"].dropna().tolist() == [7, 2, 8, 2]


@pytest.mark.parametrize("library", [pd, pl])
def test_tables_are_read_back_as_they_were(
    library: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    from shortloop.stages.rows import pack, unpack

    for errors in (ERRORS, {}):
        names = ["a", "b", "c", "d"] if errors else ["a", "c"]
        rows = [unpack(pack({"rows": frame(library, unit)}, "it")) for unit in (7, 8)]
        arrays, tables, _ = stacked(["a", "c"], rows, "it")
        table = with_failed(names, arrays, tables, errors)[1]["rows"]
        described = save_table("rows", table)
        found: Any = read_table(tmp_path / "rows.parquet", described)
        assert found.equals(table)
        units = ["a", "a", "b", "c", "c", "d"] if errors else ["a", "a", "c", "c"]
        assert [*found["unit"]] == units
        assert [str(found[name].dtype) for name in ("n", "unit_error")] == (
            ["Int64", "string"] if library is pd else ["Int64", "String"]
        )


def test_a_value_of_that_name_is_refused() -> None:
    with pytest.raises(InputError, match="the name of the errors"):
        given(unit_error=(1.0, 2.0))
    with pytest.raises(InputError, match="table rows"):
        given(rows=[pd.DataFrame({"unit_error": [1]})] * 2)


def test_objects_stay_with_their_units(tmp_path: Path) -> None:
    from shortloop.stages.rows import pack, unpack

    rows = [unpack(pack({"model": {1: {name}}}, "it")) for name in "xy"]
    _, _, found = stacked(["a", 3], rows, "it")
    (model,) = objects_with_failed(found, len(NAMES), ERRORS).values()
    (tmp_path / "model.pkl").write_bytes(model.data)
    read = Objects(tmp_path, {"model": model.described}, lambda: NAMES, lambda file: None)["model"]
    assert [read[name] for name in NAMES] == [{1: {"x"}}, None, {1: {"y"}}, None]  # type: ignore[index]


def test_failed_units_are_named_up_to_a_number() -> None:
    errors = {"units": 120, "failed": [[f"sub-{unit}", ""] for unit in range(5)]}
    assert failed_units(errors, 2) == "5 of 120 units failed: sub-0, sub-1, and 3 more"
    assert failed_units({"units": 3, "failed": [[2, ""]]}, 2) == "1 of 3 units failed: 2"
