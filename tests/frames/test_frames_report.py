"""The report of any mixture of rows: right, wrong, failed and left out."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from frames_rows import content, mixture, row
from hypothesis import given, settings
from hypothesis import strategies as st
from whole_page import write_whole

from shortloop.frames.report import Content, fastest, limits, line_of, overview, page_of
from shortloop.frames.transformations import APPLY, COLUMN, LIBRARIES, TRANSFORMATIONS, TRAP


@pytest.fixture
def shown() -> Content:
    return mixture()


def test_a_page_is_one_table_with_each_number_once(shown: Content, tmp_path: Path) -> None:
    (section,) = page_of(shown).sections
    (table,) = section.tables
    assert len(table.rows) == len(shown.measured) == 16
    first = next(each for each in table.rows if each.name == "pandas")
    assert dict(zip(table.columns, (each.replace("\u00a0", " ") for each in first.cells))) == {
        "work": "apply",
        "settings": "4 one core: frames of rows, file by file",
        "seconds": "4.20 s",
        "range": "4.00 s – 4.40 s",
        "× pandas": "1",
        "start": "100 ms",
        "memory": "100 MB",
        "result": "right",
        "version": "1.0",
    }
    cells = [cell for line in table.rows for cell in line.cells]
    assert "168" in cells
    assert [cell for cell in cells if re.search(r"\de[+-]\d|nan|None", cell)] == []
    said = overview(shown)
    for words in ("10 rows × 50 columns", "4 cores of a processor with 8 GiB", "2026-01-02 03:04 UTC"):
        assert words in said
    page = write_whole(page_of(shown), tmp_path)[0].read_text(encoding="utf-8")
    for words in (
        "wrong: 3 of 7 sums are wrong",
        "failed: took longer than 3\u00a0s &lt;&amp;&gt;",
        "left out: it needs pandas &lt;\u00a02.4",
        "wrong: drew the same numbers",
        "4.20\u00a0s",
        "4.00\u00a0s\u00a0– 4.40\u00a0s",
    ):
        assert words in page


def test_nothing_measured_is_no_crash(tmp_path: Path) -> None:
    shown = content(line_of("modin", COLUMN, "left out", "not there"), row(TRAP, COLUMN, 1.0))
    page = write_whole(page_of(shown), tmp_path)[0].read_text(encoding="utf-8")
    assert "column: no library was right" in page
    assert "not there" in page


def test_limits_are_mentioned(shown: Content) -> None:
    """Fewer rows than asked for, a mistake that was not found, and a busy machine."""
    quiet, busy = row("pandas", COLUMN, 1.0), row("polars", COLUMN, 1.0, others=1.7)
    asked: dict[int | str, str] = {99: "99", "fit": "25,000,000", 10: ""}
    for number, words in asked.items():
        said = " ".join(limits(content(quiet, asked=number)))
        assert (f"{words} rows were asked for; 10 fit 4 times" in said) == bool(words)
    assert any("takes two files" in each for each in limits(content(row(TRAP, COLUMN, 1.0))))
    assert not any("takes two files" in each for each in limits(shown))
    assert not any("Others kept" in each for each in limits(content(quiet)))
    said = " ".join(limits(content(quiet, busy)))
    assert "Others kept up to 1.7 cores busy during 1 of 2 measurements" in said


def test_the_table_has_units_in_its_names_and_numbers_in_its_columns(shown: Content) -> None:
    frame = shown.measured.set_index(["library", "transformation"])
    for name in ("median_s", "start_s", "peak_bytes", "cores_busy", "ks_p", "times_as_fast_as_pandas"):
        assert frame[name].dtype == np.float64
    lines = {where: dict(zip(frame.columns, line)) for where, line in zip(frame.index, frame.to_numpy())}
    pandas, dask, duckdb = (lines[name, APPLY] for name in ("pandas", "dask-processes", "duckdb"))
    assert pandas["median_s"] == 4.2
    assert (pandas["least_s"], pandas["most_s"], pandas["repeats"]) == (4.0, 4.4, 3)
    assert pandas["processor_s"] == pytest.approx(4.2)  # one core, busy all the time
    assert pandas["rows_per_s"] == pytest.approx(10 / 4.2)
    assert dask["times_as_fast_as_pandas"] == pytest.approx(4.2 / 0.025)
    assert np.isnan(dask["peak_bytes"])
    assert duckdb["status"] == "failed"
    assert np.isnan(duckdb["median_s"])
    assert np.isnan(lines["polars", APPLY]["times_as_fast_as_pandas"])  # it was wrong


def test_the_fastest_is_named_and_what_cannot_be_told_from_it() -> None:
    rows = [row("pandas", COLUMN, 4.0, 4.2, 4.4), row("polars", COLUMN, 0.5, 0.52, 0.6)]
    assert fastest(content(*rows)) == ["column: Polars is the fastest, 520 ms."]
    rows += [row("duckdb", COLUMN, 0.59, 0.7)]
    assert fastest(content(*rows)) == ["column: Polars is the fastest, 520 ms; not clearly slower: DuckDB."]
    wrong, failed = row("polars", COLUMN, 0.1, status="wrong"), row("duckdb", COLUMN, status="failed")
    rows = [row("pandas", COLUMN, 4.0), wrong, failed, row(TRAP, COLUMN, 0.1)]
    assert fastest(content(*rows)) == ["column: pandas is the fastest, 4.00 s."]
    assert fastest(content(wrong)) == ["column: no library was right."]


times = st.lists(st.floats(1e-5, 1e4), min_size=1, max_size=5)


@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from(sorted(LIBRARIES)), st.tuples(times, times, times), min_size=1))
def test_the_fastest_is_fastest_whatever_was_measured(measured: dict[str, tuple[list[float], ...]]) -> None:
    rows = [
        row(name, what, *each)
        for name, every in measured.items()
        for what, each in zip(TRANSFORMATIONS, every)
    ]
    said = fastest(content(*rows))
    assert [each.partition(":")[0] for each in said] == list(TRANSFORMATIONS)
    for number, text in enumerate(said):
        seconds = {name: np.array(every[number]) for name, every in measured.items()}
        medians = {name: float(np.median(each)) for name, each in seconds.items()}
        best = next(name for name in measured if f": {LIBRARIES[name].title} is" in text)
        assert medians[best] == min(medians.values())
        also = text.partition("not clearly slower: ")[2].rstrip(".").split("; ")
        alike = {LIBRARIES[name].title for name in measured if min(seconds[name]) <= max(seconds[best])}
        assert {*filter(None, also)} == alike - {LIBRARIES[best].title}
