"""Advice says what was measured, and nothing else."""

from __future__ import annotations

import dataclasses
import re

import pytest
from frames_rows import content, row
from hypothesis import given
from hypothesis import strategies as st

from shortloop.frames.report.advice import advise, slower, span
from shortloop.frames.report.content import FAILED, WRONG
from shortloop.frames.runners.registry import LIBRARIES, TRAP_NAME
from shortloop.frames.work import COLUMN, TRANSFORMATIONS


def test_the_fastest_is_named_with_its_times() -> None:
    said = advise(content(row("pandas", COLUMN, 4.0, 4.2, 4.4), row("polars", COLUMN, 0.5, 0.52, 0.6)))
    assert "A column at once: Polars is the fastest, 520 ms, 8.1 times as fast as pandas" in said[0]
    turned = advise(content(row("pandas", COLUMN, 0.5, 0.52, 0.6), row("polars", COLUMN, 4.0, 4.2, 4.4)))
    assert "pandas is the fastest, 520 ms." in turned[0]
    assert "Polars" not in turned[0]


def test_what_cannot_be_told_apart_is_said_to_be_so() -> None:
    said = advise(content(row("duckdb", COLUMN, 0.9, 1.1, 1.2), row("polars", COLUMN, 1.0, 1.3, 1.5)))
    assert "DuckDB is the fastest, 1.10 s; Polars cannot be told from it." in said[0]


def test_a_library_that_starts_quickly_is_first_where_work_is_done_once() -> None:
    quick = row("polars", COLUMN, 2.0, start=0.1)
    slow = row("numba", COLUMN, 1.0, start=5.0)
    assert any(
        "Polars is first there: 2.10 s with its start, numba 6.00 s" in each
        for each in advise(content(quick, slow))
    )
    assert not any(
        "first there" in each for each in advise(content(quick, dataclasses.replace(slow, start=0.1)))
    )


@pytest.mark.parametrize(
    ("threads", "processes", "words"),
    [
        ((4.0, 4.1), (2.0, 2.1), "With joblib, processes are 2.0 times as fast as threads here"),
        ((2.0, 2.1), (4.0, 4.1), "With joblib, threads are 2.0 times as fast as processes here"),
        ((2.0, 4.5), (4.0, 4.1), ""),
        ((2.0, 2.0), (2.1, 2.1), ""),
    ],
)
def test_threads_and_processes_are_compared(
    threads: tuple[float, ...], processes: tuple[float, ...], words: str
) -> None:
    rows = (row("joblib-threads", COLUMN, *threads), row("joblib-processes", COLUMN, *processes))
    said = [each for each in advise(content(*rows)) if "With joblib" in each]
    assert len(said) == bool(words)
    assert all(words in each for each in said)


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ((1.0, 1.1), "multiprocessing.Pool is the fastest: 3.9 times as fast as pandas on one core, with 4"),
        ((3.9, 4.5), "Nothing that runs pandas code on several cores is clearly faster"),
        (
            (8.0, 8.2),
            "Nothing that runs pandas code on several cores is faster than pandas on one core here; the "
            "least slow, multiprocessing.Pool, takes 2.0 times as long",
        ),
    ],
)
def test_pandas_code_on_several_cores(pool: tuple[float, ...], words: str) -> None:
    said = advise(content(row("pandas", COLUMN, 4.0, 4.1), row("pool", COLUMN, *pool)))
    assert any(words in each for each in said), said


def test_what_is_wrong_or_failed_is_never_advised() -> None:
    rows = (
        row("pandas", COLUMN, 4.0),
        row("polars", COLUMN, 0.1, status=WRONG),
        row("duckdb", COLUMN, status=FAILED),
        row("pool", COLUMN, 0.1, status=WRONG, peak=10**12),
    )
    said = " ".join(advise(content(*rows)))
    assert "pandas is the fastest" in said
    for title in ("Polars", "DuckDB", "Pool"):
        assert title not in said
    assert advise(content(rows[1])) == ("A column at once: nothing was measured.",)


def test_the_trap_is_told_as_it_was_found() -> None:
    caught = row(TRAP_NAME, COLUMN, 1.0, status=WRONG, repeated=0.5)
    assert any(
        "50 % of the numbers were those of another row" in each for each in advise(content(trap=caught))
    )
    passed = row(TRAP_NAME, COLUMN, 1.0, repeated=0.0)
    assert any("it takes two files" in each for each in advise(content(trap=passed)))


def test_a_busy_machine_is_mentioned() -> None:
    quiet, busy = row("pandas", COLUMN, 1.0), row("polars", COLUMN, 1.0, others=1.7)
    assert not any("Others used" in each for each in advise(content(quiet)))
    said = " ".join(advise(content(quiet, busy)))
    assert "while 1 of 2 measurements ran, up to 1.7 of its 4 cores" in said


times = st.lists(st.floats(1e-5, 1e4), min_size=1, max_size=5)


@given(st.dictionaries(st.sampled_from(sorted(LIBRARIES)), st.tuples(times, times, times), min_size=1))
def test_the_fastest_is_the_fastest_whatever_was_measured(
    measured: dict[str, tuple[list[float], ...]],
) -> None:
    shown = content(
        *(
            row(name, what, *each)
            for name, every in measured.items()
            for what, each in zip(TRANSFORMATIONS, every)
        ),
        transformations=tuple(TRANSFORMATIONS),
    )
    said = advise(shown)
    fastest = [each for each in said if re.search(r"^[^.]*: .* is the fastest, ", each)]
    assert len(fastest) == 3
    for text, transformation in zip(fastest, TRANSFORMATIONS):
        rows = shown.of(transformation)
        best = min(rows, key=lambda each: each.median)
        assert f": {best.spoken} is the fastest, {span(best.median)}" in text
        for other in rows:
            if slower(other, best) and other.library != "pandas":
                assert other.spoken not in text.replace(best.spoken, "")
    assert all(each.endswith(".") for each in said)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (123.4, "123 s"),
        (12.34, "12.3 s"),
        (1.234, "1.23 s"),
        (0.9951, "1.00 s"),
        (0.5, "500 ms"),
        (0.0123, "12.3 ms"),
    ],
)
def test_times_have_three_digits(seconds: float, text: str) -> None:
    assert span(seconds) == text
