"""Rows of a frame, group by group: nothing is lost; columns of any type are read as they are meant."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refusal

from shortloop.panel.data import block_of, from_frame, sorted_rows
from shortloop.panel.formats.parquet import ParquetInput
from shortloop.panel.formulas.column import LEVELS, lookalikes, numbers_as_text
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.frame import fit_frame


@pytest.mark.parametrize("groups", [1, 2, 65535, 65536, 65537, 200_000])
def test_rows_are_sorted_by_group(groups: int) -> None:
    codes = np.random.default_rng(groups).integers(-1, groups, 100_000)
    codes[:2] = 0, groups - 1
    order, starts = sorted_rows(codes, groups)
    known = np.flatnonzero(codes >= 0)
    assert (order == known[np.argsort(codes[known], kind="stable")]).all()
    assert (starts == np.searchsorted(codes[order], np.arange(groups + 1))).all()


@pytest.mark.parametrize(
    "values",
    [
        [3, 10, -1],
        np.array([2**64 - 1, 2, 3], np.uint64),
        [1.0, 2.0, np.nan],
        [0.5, 2.0, 1.0],
        [True, False, True],
        ["03", "x", "y"],
        pd.Categorical([5, 6, 7]),
        pd.Series([1, None, 3], dtype=object),
        pd.array([1, None, 3], "Int64"),
        np.array(["0001-01-01", "2020-01-02", "2021-01-01"], "datetime64[s]"),
        pd.date_range("2020", periods=3, freq="7h"),
    ],
)
def test_tables_have_the_values_of_the_group_columns(values: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.standard_normal(60), "y": rng.standard_normal(60)})
    frame["g"] = pd.Series(values).take(np.repeat([0, 1, 2], 20)).array
    found = fit_frame(frame, ["g"], model="ols", formula="y ~ x")
    known = sorted(frame["g"].dropna().unique())
    for table in (found.coefficients(), found.fits(), found.predict().dropna()):
        assert sorted(table["g"].unique()) == known
        assert table["g"].dtype.kind in "iubfMO"
    assert len(found.fits().merge(frame, on="g")) == frame["g"].notna().sum()


@given(
    rows=st.lists(st.tuples(st.sampled_from([*"abcde", None]), st.integers(-6, 6)), min_size=1, max_size=60),
    kind=st.sampled_from(["int8", "int64", "Int64", "uint64", "float64", "str", "category"]),
    far=st.booleans(),
    blocks=st.integers(1, 5),
)
@settings(max_examples=100, deadline=None)
def test_rows_keep_their_order(rows: list[tuple[str | None, int]], kind: Any, far: bool, blocks: int) -> None:
    numbers = np.array([number for _, number in rows]) + (6 if kind == "uint64" else 0)
    if far and kind != "int8":
        numbers = np.where(numbers == 5, 10**12, numbers)
    frame = pd.DataFrame({"name": [name for name, _ in rows], "number": pd.Series(numbers).astype(kind)})
    frame["x"] = np.arange(len(rows)) * 1.0
    if frame["name"].isna().all():
        with refusal("no row belongs to a group"):
            from_frame(frame, ["name", "number"], blocks)
        return
    for by in (["name", "number"], ["number"]):
        panel = from_frame(frame, by, blocks)
        x = panel.columns["x"].values
        places = zip(panel.keys, panel.starts[:-1], panel.starts[1:], strict=True)
        assert {key: x[first:last].tolist() for key, first, last in places} == {
            tuple(f"{each:.0f}" if isinstance(each, float) else str(each) for each in key): part["x"].tolist()
            for key, part in frame.groupby(by, observed=True)
        }
        dealt = [block_of(key, blocks) for key in panel.keys]
        assert dealt == sorted(dealt)
        lost = int(frame[by].isna().any(axis=1).sum())
        assert panel.notes == ((f"{lost} rows belong to no group",) if lost else ())


def test_blocks_of_groups_and_orders_of_texts_hang_on_nothing_else() -> None:
    few = from_frame(pd.DataFrame({"g": ["a", "b", "c"], "x": 1.0}), ["g"], 4)
    many = from_frame(pd.DataFrame({"g": [f"{n}" for n in range(99)] + ["a", "b", "c"], "x": 1.0}), ["g"], 4)
    assert {*few.keys} < {*many.keys}
    assert [block_of((name,), 4) for name in "abcdef"] == [3, 1, 3, 3, 3, 3]  # kept jobs rely on it
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        frame = pd.DataFrame({"g": 1, "k": ["d", "b", "a", "c"]}).iloc[order]
        assert from_frame(frame, ["g"]).columns["k"].levels == ("a", "b", "c", "d")


def test_columns_are_numbers_or_texts() -> None:
    frame = pd.DataFrame(
        {
            "g": 1.0,
            "float": [1.5, np.nan],
            "nullable": pd.array([3, None], dtype="Int64"),
            "bool": [True, False],
            "text": ["b", None],
            "category": pd.Categorical(["y", "x"], categories=["x", "y", "z"]),
            "numbers": pd.Categorical([3, 4]),
            "time": pd.to_datetime(["2020-01-01", "2021-01-01"]),
            "complex": [1j, 2j],
        }
    )
    panel = from_frame(frame, ["g"])
    found = panel.columns
    assert panel.keys == [("1",)]
    np.testing.assert_array_equal(found["float"].values, [1.5, np.nan])
    np.testing.assert_array_equal(found["nullable"].values, [3.0, np.nan])
    np.testing.assert_array_equal(found["bool"].values, [1.0, 0.0])
    assert found["text"].levels == ("b",)
    np.testing.assert_array_equal(found["text"].values, [0, -1])
    assert found["category"].levels == ("x", "y", "z")
    np.testing.assert_array_equal(found["category"].values, [1, 0])
    assert found["numbers"].levels == (3, 4)
    np.testing.assert_array_equal(found["numbers"].values, [0, 1])
    assert {note.partition(":")[0] for note in panel.notes} == {"time", "complex"}


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
    with refusal("unsupported values"):
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
    with refusal("unsupported column type", f"{name}: it has "):
        fit_frame(frame, ["g"], model="ols", formula=f"y ~ x + {name}")


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
    with refusal("several regressors have the same name"):
        fit_frame(frame, ["g"], model="ols", formula="y ~ Intercept")
    with refusal("several columns have the same name"):
        from_frame(frame[["g", "y", "y"]], ["g"])
    alike = frame.assign(k=pd.Series([1, "1", 1, "1"], dtype=object))
    with refusal("written alike"):
        fit_frame(alike, ["g"], model="ols", formula="y ~ k")
    with refusal("two groups"):
        from_frame(alike, ["k"])
    with refusal("no such column", found="h"):
        from_frame(frame, ["h"])


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["1.5", "2", "N/A"], "2 of 3 values are numbers, but not 'N/A'"),
        (["1,5", "2,5"], "although all values are numbers"),
        (["12 %", "3 %", "-"], "but not '-'"),
        (["1 234", "−5", "$3.10", "1e-5"], "although all values are numbers"),
        (["A1", "B2", "3"], ""),
        (["2020-01-01", "2020-01-02"], ""),
        (["5"], ""),
        ([], ""),
    ],
)
def test_numbers_among_texts(texts: list[str], said: str) -> None:
    found = numbers_as_text(texts)
    assert said in found
    assert bool(said) == bool(found)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["Mu\u0308ller", "Müller"], True),
        (["F1", "F1 "], True),
        (["a b", "a\u00a0b"], True),
        (["F1", "f1"], False),
        (["ß", "ss"], False),
        (["", "a"], False),
    ],
)
def test_texts_that_look_the_same(texts: list[str], found: bool) -> None:
    assert (lookalikes(texts) is not None) == found


def test_groups_that_look_the_same_or_cannot_be_told_apart_are_refused() -> None:
    frame = pd.DataFrame({"g": ["Müller", "Mu\u0308ller"], "k": ["a", "a "], "n": ["1,5", "x"], "y": 1.0})
    with refusal("look the same", r"u\u0308"):
        from_frame(frame, ["g"])
    notes = from_frame(frame.assign(g=["A", "B"]), ["g"]).notes
    assert [note.partition(":")[0] for note in notes] == ["k", "n"]
    ids = pd.Series([2**53, 2**53 + 1, None], dtype="Int64")
    frame = pd.DataFrame({"g": ids.astype("float64"), "y": 1.0})
    with refusal("too large to be distinguished"):
        from_frame(frame, ["g"])
    assert len(from_frame(frame.assign(g=ids), ["g"]).keys) == 2
    assert len(from_frame(frame.assign(g=np.array([2**53, 2**53 + 1, 5])), ["g"]).keys) == 3
