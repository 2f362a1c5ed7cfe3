"""The table: the same each time, exact, and no larger than what fits."""

from __future__ import annotations

import io

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.frames.settings import Frames, TableSettings
from shortloop.frames.size import GUIDE, STEP, rows_that_fit
from shortloop.frames.table import column_names, part_bytes, rows_of_parts


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_parts_hold_all_rows_and_no_part_more_than_it_may(rows: int, chunk: int) -> None:
    chunk = max(chunk, rows // 500)
    found = rows_of_parts(rows, chunk)
    assert sum(found) == rows
    assert 1 <= min(found) <= max(found) <= min(chunk, min(found) + 1)


@given(st.integers(1, 10**9), st.integers(2, 999), st.floats(1, 1e13))
def test_the_table_fits_four_times(rows: int, columns: int, memory: float) -> None:
    found = rows_that_fit(rows, columns, memory)
    assert 1 <= found <= rows
    assert found == 1 or found * columns * 8 * 4 <= memory
    assert found == rows or (found + 1) * columns * 8 * 4 > memory


def test_the_table_of_the_guide_is_scaled_to_the_memory() -> None:
    assert rows_that_fit(*GUIDE, 64 * 2**30) == GUIDE[0]
    assert rows_that_fit(*GUIDE, 4 * 2**30) == 4 * 2**30 // 1600


def test_as_many_rows_as_fit_can_be_asked_for() -> None:
    """Of those of the guide, in words that say so."""
    table = TableSettings(rows="fit")
    assert rows_that_fit(table.most, table.columns, 4 * 2**30) == 4 * 2**30 // 1600
    assert rows_that_fit(table.most, 2, 64 * 2**30) == GUIDE[0]
    assert "as many rows as fit × 50 columns" in Frames(name="large", table=table).in_words()
    for wrong in ("all", 0):
        with pytest.raises(ValueError, match="rows"):
            TableSettings(rows=wrong)


def test_a_part_is_the_same_each_time_and_unlike_others() -> None:
    first = part_bytes(3, 0, 50, 4, 6)
    assert first == part_bytes(3, 0, 50, 4, 6)
    table = pq.read_table(io.BytesIO(first))
    assert table.column_names == ["key", *column_names(4)]
    assert set(table["key"].to_pylist()) <= set(range(6))
    x = table["x"].to_numpy()
    np.testing.assert_array_equal(x / STEP, np.rint(x / STEP))
    assert np.abs(x).max() <= 512
    for other in (part_bytes(3, 1, 50, 4, 6), part_bytes(4, 0, 50, 4, 6)):
        assert not set(x) <= set(pq.read_table(io.BytesIO(other))["x"].to_numpy())


@pytest.mark.parametrize(("columns", "names"), [(2, ("x",)), (4, ("x", "v001", "v002"))])
def test_columns_have_names(columns: int, names: tuple[str, ...]) -> None:
    assert column_names(columns) == names
