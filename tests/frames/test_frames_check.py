"""Wrong sums and wrong random numbers are noticed, right ones are not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats  # noqa: F401  before deadlines count
from hypothesis import given
from hypothesis import strategies as st

from shortloop.frames.check import check_aggregates, check_random, true_aggregates
from shortloop.frames.size import STEP
from shortloop.frames.work import Aggregates

ROWS = 3000


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


@given(st.integers(0, 2**32 - 1), st.permutations(range(40)))
def test_the_order_of_adding_does_not_matter(seed: int, order: list[int]) -> None:
    values = x_of(np.random.default_rng(seed), 40)
    assert float(sum(values[order])) == float(sum(values)) == float(np.sum(values))


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
    rng = np.random.default_rng(seed)
    x = x_of(rng)
    assert check_random(x + 100 + rng.random(ROWS), x).wrong == ""


def drawn(rng: np.random.Generator) -> np.ndarray:
    return rng.random(ROWS)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda x, rng: x + 100 + np.tile(rng.random(ROWS // 2), 2), "drew the same numbers"),
        (lambda x, rng: x + 100 + np.tile(rng.random(100), ROWS // 100), "drew the same numbers"),
        (lambda x, rng: x + 100 + np.concatenate([drawn(rng)[:-3], [0.5] * 3]), "drew the same numbers"),
        (lambda x, rng: x + 100 + np.zeros(ROWS), "drew the same numbers"),
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
@pytest.mark.parametrize("seed", range(3))
def test_wrong_random_numbers_are_noticed(make, words: str, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    x = x_of(rng)
    found = check_random(make(x, rng), x).wrong
    assert any(each in found for each in words.split("|")), found


def test_repeated_numbers_are_all_found_though_they_are_rounded() -> None:
    rng = np.random.default_rng(1)
    x = x_of(rng)
    found = check_random(x + 100 + np.tile(rng.random(ROWS // 2), 2), x)
    assert found.repeated == pytest.approx(0.5, abs=1e-9)


def test_no_rows_are_no_mistake() -> None:
    assert check_random(np.zeros(0), np.zeros(0)).wrong == ""
