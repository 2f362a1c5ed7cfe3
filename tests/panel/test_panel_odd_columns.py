"""Columns of types that formulas do not know: taken as what they mean, or refused where they are used."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortloop.base.errors import InputError
from shortloop.panel.column import LEVELS
from shortloop.panel.data import block_of, from_frame
from shortloop.panel.equation import Equation
from shortloop.panel.formats.parquet import ParquetInput
from shortloop.panel.frame import fit_frame

NEW = ("1000000",)


def read(file: Path, frame: pd.DataFrame, **settings: object) -> pd.DataFrame:
    frame.to_parquet(file)
    return ParquetInput.model_validate({"format": "parquet", "file": "rows.parquet", **settings}).read(file)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        ([True, None, False, True], [1, np.nan, 0, 1]),
        ([Decimal("1.50"), None, Decimal("0.25"), Decimal("2.00")], [1.5, np.nan, 0.25, 2]),
        (pd.array([2, None, 3, 4], "Int64"), [2, np.nan, 3, 4]),
        (np.array([np.inf, 1, -np.inf, 2], np.float16), [np.inf, 1, -np.inf, 2]),
    ],
)
def test_what_means_numbers_is_taken_as_such(tmp_path: Path, values: Any, numbers: list[float]) -> None:
    frame = read(tmp_path / "rows.parquet", pd.DataFrame({"g": list("aabb"), "v": values}))
    column = from_frame(frame, ["g"]).columns["v"]
    assert column.levels is None
    np.testing.assert_array_equal(column.values, numbers)


@pytest.mark.parametrize("values", [[[1], [2], None, [3]], [{"a": 1}, {"a": 2}, None, {"a": 1}]])
def test_nested_columns_are_left_out_and_make_no_groups(tmp_path: Path, values: Any) -> None:
    frame = read(tmp_path / "rows.parquet", pd.DataFrame({"g": list("aabb"), "v": values}))
    panel = from_frame(frame, ["g"])
    assert not panel.columns
    assert panel.notes == ("v: left out: its values are lists or tables",)
    with pytest.raises(InputError, match="unsupported values"):
        from_frame(frame, ["v"])


def test_an_index_that_was_written_is_columns_as_all_are(tmp_path: Path) -> None:
    frame = pd.DataFrame({"g": list("aabb"), "year": [1, 2, 1, 2], "x": 1.0, "y": 2.0})
    found = read(tmp_path / "rows.parquet", frame.set_index(["g", "year"]))
    assert [*found.columns] == ["g", "year", "x", "y"]
    assert list(from_frame(found, ["g"]).keys) == [("a",), ("b",)]
    found = read(tmp_path / "rows.parquet", frame.set_index(["g", "year"]), columns=["g", "y"])
    assert [*found.columns] == ["g", "y"]


def clustered(texts: int = LEVELS + 1) -> pd.DataFrame:
    """Clusters of two rows, in groups of a hundred or so; `text` and `day` are other names of `number`."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"number": np.repeat(np.arange(texts), 2)})
    frame["g"] = frame["number"] // 100
    frame["text"] = [f"person {number}" for number in frame["number"][::-1]]
    frame["day"] = pd.Timestamp(1900, 1, 1) + pd.to_timedelta(frame["number"], unit="D")
    frame[["x", "y"]] = rng.standard_normal((len(frame), 2))
    frame.loc[5, ["text", "day", "number"]] = None
    return frame


@pytest.mark.parametrize("name", ["text", "day"])
def test_any_column_can_make_clusters(name: str) -> None:
    frame = clustered()
    how: dict[str, Any] = {"model": "ols", "formula": "y ~ x", "covariance": "cluster"}
    if name == "text":  # of which the first five of the first group are those that `number` has there
        frame["number"] = pd.factorize(frame["text"])[0].astype(float)
        frame.loc[frame["text"].isna(), "number"] = np.nan
    found = fit_frame(frame, ["g"], **how, clusters=name)
    expected = fit_frame(frame, ["g"], **how, clusters="number")
    pd.testing.assert_frame_equal(found.coefficients("none"), expected.coefficients("none"), check_exact=True)
    with pytest.raises(InputError, match="unsupported column type") as caught:
        fit_frame(frame, ["g"], model="ols", formula=f"y ~ x + {name}")
    assert f"{name}: it has " in str(caught.value)


def test_names_of_clusters_are_those_of_their_block_alone() -> None:
    frame = clustered()
    more = pd.concat([frame, frame[:2].assign(g=int(NEW[0]), text="a new one", day=pd.Timestamp(1800, 1, 1))])
    for name in ("text", "day"):
        few, many = (from_frame(each, ["g"], 3) for each in (frame, more))
        for number in range(3):
            parts: list[Any] = []
            for panel in (few, many):
                here = [
                    g
                    for g, key in enumerate(panel.keys)
                    if block_of(key, 3) == number and key != ("1000000",)
                ]
                rows = slice(int(panel.starts[here[0]]), int(panel.starts[here[-1] + 1]))
                parts.append(panel.columns[name].taken(rows).trimmed().values)
            np.testing.assert_array_equal(*parts)


@pytest.mark.parametrize("outcome", [None, "y"])
@pytest.mark.parametrize("formula", ["x", "np.log(x) + `a b`:k", "C(k) + k", "scale(x) + Q('a b')", "1"])
def test_of_the_columns_that_are_needed_the_same_are_needed(formula: str, outcome: str | None) -> None:
    values = {"g": [1, 1], "x": 1.0, "y": 2.0, "a b": 3.0, "k": "u", "C": 1.0, "w": 1.0, "b": 0.0}
    columns = from_frame(pd.DataFrame(values), ["g"]).columns
    equation = Equation(formula if outcome else f"y ~ {formula}", outcome)
    needed = equation.needed(columns, ["w"])
    assert {"y", "w"} <= {*needed} < {*columns}
    assert equation.needed(needed, ["w"]) == needed
    assert ("C" in needed) == ("C(" in formula)  # a column that hides what a formula calls


def test_what_has_the_name_of_another_is_refused() -> None:
    frame = pd.DataFrame({"g": 1, "y": [1.0, 3.0, 2.0, 5.0], "Intercept": [1.0, 2.0, 3.0, 5.0]})
    with pytest.raises(InputError, match="several regressors have the same name"):
        fit_frame(frame, ["g"], model="ols", formula="y ~ Intercept")
    with pytest.raises(InputError, match="several columns have the same name"):
        from_frame(frame[["g", "y", "y"]], ["g"])
    alike = frame.assign(k=pd.Series([1, "1", 1, "1"], dtype=object))
    with pytest.raises(InputError, match="written alike"):
        fit_frame(alike, ["g"], model="ols", formula="y ~ k")
