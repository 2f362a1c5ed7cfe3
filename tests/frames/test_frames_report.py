"""The report of any mixture of rows: right, wrong, failed and left out."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frames_rows import content, mixture, row
from whole_page import write_whole

from shortloop.frames.report.content import FAILED, LEFT_OUT, Content, frame_of
from shortloop.frames.report.page import drawings, limits, overview, page_of
from shortloop.frames.work import APPLY, COLUMN


@pytest.fixture
def shown() -> Content:
    return mixture()


def test_a_page_is_written(shown: Content, tmp_path: Path) -> None:
    first, *files = write_whole(page_of(shown), tmp_path, drawings(shown))
    figures = [file for file in files if file.parent.name == "figures"]
    assert len(figures) == 2 * 3
    assert all(file.stat().st_size > 5000 for file in figures)
    page = first.read_text(encoding="utf-8")
    for words in (
        "3 of 7 sums are wrong",
        "took longer than 3\u00a0s &lt;&amp;&gt;",
        "pandas &lt;\u00a02.4",
        "4.20\u00a0s",
    ):
        assert words in page


def test_numbers_beside_the_figures_are_those_that_are_drawn(shown: Content) -> None:
    times, memory = (pd.read_csv(StringIO(each.numbers(shown))) for each in drawings(shown))
    table = frame_of(shown).query("library != 'fork-trap' and status != 'left out'")
    right = table["status"] == "right"
    for name, column in {"median (s)": "median_s", "least (s)": "least_s", "most (s)": "most_s"}.items():
        np.testing.assert_array_equal(times[name], table[column].where(right))
    np.testing.assert_allclose(
        times["median with start (s)"], (table["median_s"] + table["start_s"]).where(right)
    )
    np.testing.assert_allclose(memory["memory (MB)"], (table["peak_bytes"] / 1e6).where(right))
    for found in (times, memory):
        assert list(found["transformation"]) == list(table["transformation"])
        assert list(found["found"]) == list(table["status"])


def test_no_number_of_a_table_is_in_powers_of_ten(shown: Content) -> None:
    cells = [
        cell
        for section in page_of(shown).sections
        for table in section.tables
        for line in table.rows
        for cell in line.cells
    ]
    assert "168" in cells
    assert "0.500" in cells
    assert [cell for cell in cells if re.search(r"\de[+-]\d", cell)] == []


def test_nothing_measured_is_no_crash(tmp_path: Path) -> None:
    shown = content(row("modin", COLUMN, status=LEFT_OUT, workers=0, start=None, why="not there"))
    assert drawings(shown) == []
    page = write_whole(page_of(shown), tmp_path)[0].read_text(encoding="utf-8")
    assert "nothing was measured" in page
    assert "not there" in page


def test_the_table_has_units_in_its_names_and_numbers_in_its_columns(shown: Content) -> None:
    frame = frame_of(shown).set_index(["library", "transformation"])
    assert len(frame) == 16
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
    assert duckdb["status"] == FAILED
    assert np.isnan(duckdb["median_s"])


def test_fewer_rows_than_asked_for_are_mentioned(shown: Content) -> None:
    asked = {**shown.frames, "table": {"columns": 50, "rows": 99, "groups": 3}}
    fewer = Content(asked, shown.machine, 10, shown.shown, None, {}, ())
    assert any("99 rows were asked for; 10 fit 4 times" in each for each in limits(fewer))
    assert not any("asked for" in each for each in limits(shown))


def test_where_as_many_as_fit_were_asked_for_the_guide_has_more(shown: Content) -> None:
    asked = {**shown.frames, "table": {"columns": 50, "rows": "fit", "groups": 3}}
    (said,) = [each for each in limits(replace(shown, frames=asked)) if "asked for" in each]
    assert said.startswith(f"25,000,000 rows were asked for; {shown.rows:,} fit")


def test_the_machine_and_the_day_are_named(shown: Content) -> None:
    said = overview(shown)
    for words in (
        "10 rows × 50 columns",
        "4 cores of a processor with 8 GiB",
        "2026-01-02 03:04 UTC",
        "pandas one",
    ):
        assert words in said
