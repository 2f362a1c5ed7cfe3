"""The table: the same each time, exact, no larger than what fits; and what is wrong about it is found."""

from __future__ import annotations

import io
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.stats  # noqa: F401  before deadlines count
from hypothesis import given
from hypothesis import strategies as st

from shortloop.frames.settings import Frames, TableSettings
from shortloop.frames.table import (
    check_aggregates,
    check_random,
    column_names,
    part_bytes,
    rows_of_parts,
    true_aggregates,
)
from shortloop.frames.transformations import GUIDE, STEP, Aggregates, rows_that_fit

ROWS = 3000


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


def x_of(rng: np.random.Generator, rows: int = ROWS) -> np.ndarray:
    values: np.ndarray = rng.integers(-(2**19), 2**19, rows) * STEP
    return values


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(1, 12), st.integers(1, 4))
def test_aggregates_are_those_of_fractions(seed: int, rows: int, groups: int, parts: int) -> None:
    rng = np.random.default_rng(seed)
    table = [(rng.integers(0, groups, rows), [x_of(rng, rows), x_of(rng, rows)]) for _ in range(parts)]
    found = true_aggregates(table, groups)
    for group in range(groups):
        assert found.counts[group] == sum(int((keys == group).sum()) for keys, _ in table)
        for j in range(2):
            sums = sum(Fraction(each) for keys, columns in table for each in columns[j][keys == group])
            assert Fraction(found.sums[group, j]) == sums
    assert check_aggregates(found, found).wrong == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda made: Aggregates(made.counts, np.nextafter(made.sums, np.inf)), "sums"),
        (lambda made: Aggregates(made.counts + np.array([0, 1, 0]), made.sums), "1 of 3 numbers of rows"),
        (lambda made: Aggregates(made.counts, made.sums * np.nan), "sums"),
        (lambda made: Aggregates(made.counts[:2], made.sums[:2]), "shape"),
        (lambda made: Aggregates(made.counts, made.sums[:, ::-1]), "sums"),
    ],
)
def test_wrong_aggregates_are_noticed(change, words: str) -> None:  # type: ignore[no-untyped-def]
    true = Aggregates(np.array([2, 3, 0]), np.array([[1.5, 2.0], [3.0, -1.0], [0.25, 7.0]]))
    assert words in check_aggregates(change(true), true).wrong


@given(st.integers(0, 2**32 - 1))
def test_right_random_numbers_are_right(seed: int) -> None:
    """And repeated ones are all found, though they are rounded; no rows are no mistake."""
    rng = np.random.default_rng(seed)
    x = x_of(rng)
    assert check_random(x + 100 + rng.random(ROWS), x).wrong == ""
    repeated = check_random(x + 100 + np.tile(rng.random(ROWS // 2), 2), x).repeated
    assert repeated == pytest.approx(0.5, abs=1e-9)
    assert check_random(x[:0], x[:0]).wrong == ""


def drawn(rng: np.random.Generator) -> np.ndarray:
    return rng.random(ROWS)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x, rng: x + 100 + np.tile(rng.random(ROWS // 2), 2), "drew the same"),
        (lambda x, rng: x + 100 + np.tile(rng.random(100), ROWS // 100), "drew the same"),
        (lambda x, rng: x + 100 + np.concatenate([drawn(rng)[:-3], [0.5] * 3]), "drew the same"),
        (lambda x, rng: x + 100 + np.zeros(ROWS), "drew the same"),
        (lambda x, rng: x + 100 + drawn(rng) ** 2, "not uniform"),
        (lambda x, rng: x + 100 + 0.9 * drawn(rng), "not uniform"),
        (lambda x, rng: x + 101 + drawn(rng), "x + 100"),
        (lambda x, rng: (x + 100 + drawn(rng))[::-1], "x + 100"),
        (lambda x, rng: np.roll(x + 100 + drawn(rng), 1), "x + 100"),
        (lambda x, rng: np.where(x == x[7], np.nan, x + 100 + drawn(rng)), "first in row 7"),
        (lambda x, rng: (x + 100 + drawn(rng))[1:], "shape"),
        (lambda x, rng: (x + 100 + drawn(rng)).astype(np.float32).astype(float), "drew the same|not uniform"),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_wrong_random_numbers_are_noticed(make, words: str, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    x = x_of(rng)
    found = check_random(make(x, rng), x).wrong
    assert any(each in found for each in words.split("|")), found
