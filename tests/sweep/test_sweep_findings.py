"""Findings of a sweep: numbers by name, which of them differ, their table and their figure."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes

from shortloop.sweep.figure import draw
from shortloop.sweep.findings import Finding, Outcome, csv_text, differing, findings_of, leaves, shown_number
from shortloop.sweep.grid import Combination, Grid, parse_grid
from shortloop.sweep.runs import Progress, first_line


def outcome(combination: Combination, number: int, problem: str = "", **findings: Finding) -> Outcome:
    return Outcome(combination, f"s-{number}", 2.0, problem, number, 3, 4, findings)


def swept(grid: Grid, failed: int = -1) -> list[Outcome]:
    """`up` is the number of the combination, `flat` the same for all."""
    found = []
    for number, each in enumerate(grid.combinations()):
        up = Finding(float(number), "", number - 1, number + 1, "range")
        bad = number == failed
        found.append(outcome(each, number, "a\nb") if bad else outcome(each, number, up=up, flat=Finding(7)))
    return found


def test_the_table_has_a_row_for_each_combination() -> None:
    grid = parse_grid(["a.folds=5,10", 'a.kind="x,y",z'])
    rows = list(csv.DictReader(io.StringIO(csv_text(grid, swept(grid, failed=2)))))
    assert [(row["a.folds"], row["a.kind"]) for row in rows] == [
        ("5", "x,y"), ("5", "z"), ("10", "x,y"), ("10", "z"),
    ]  # fmt: skip
    assert [row["up"] for row in rows] == ["0.0", "1.0", "", "3.0"]
    assert [row["up: range, lower"] for row in rows] == ["-1", "0", "", "2"]
    assert [row["problem"] for row in rows] == ["", "", "a\nb", ""]
    assert [row["settings"] for row in rows] == ["s-0", "s-1", "s-2", "s-3"]
    names = list(rows[0])
    assert names.index("up") < names.index("flat")
    values = (None, 3.0, 0.123456, -2.0, 1e300, float("inf"), 0.0)
    assert [*map(shown_number, values)] == ["–", "3", "0.1235", "-2", "1e+300", "inf", "0"]


def drawn(panel: Axes) -> list[np.ndarray]:
    """Points of each series."""
    return [np.asarray(line.get_xydata()) for line in panel.lines if line.get_marker() != "None"]


@pytest.mark.parametrize(
    "texts",
    [
        ["folds=2,5,10"],
        ["kind=a,b"],
        ["C=1e-4,1e-2,1,100", "kind=a,b"],
        ["kind=nonrobust,HC0,HC1,HC2,HC3", "x=1,2", "y=1,2"],
        ["level=0,1,1000", "a=1,2", "b=1,2", "c=1,2"],
    ],
)
def test_the_figure_shows_every_number_that_differs(texts: list[str], tmp_path: Path) -> None:
    from shortloop.report.style import save

    grid = parse_grid(texts)
    outcomes = swept(grid)
    figure = draw("title", grid, outcomes)
    assert figure is not None
    (panel,) = figure.axes
    assert panel.get_title(loc="left") == "up"
    points = np.concatenate(drawn(panel))
    assert sorted(points[:, 1]) == sorted(float(number) for number in range(len(outcomes)))
    collections: list[Any] = [*panel.collections]
    bars = [segment for each in collections for segment in each.get_segments()]
    assert sorted(tuple(segment[:, 1]) for segment in bars) == [
        (number - 1.0, number + 1.0) for number in range(len(outcomes))
    ]
    low, high = panel.get_xlim()
    assert all(low <= x <= high for x in points[:, 0])
    legend = figure.legends[0].get_texts() if figure.legends else []
    assert len(legend) == (len(outcomes) // len(grid.axes[0].points) if len(grid.axes) > 1 else 0)
    files = save(figure, tmp_path, "what")
    assert [file.suffix for file in files] == [".png", ".pdf", ".svg"]


def test_points_lie_where_the_numbers_of_the_axis_are() -> None:
    grid = parse_grid(["kind=a,b", "folds=20,2,10"])
    figure = draw("title", grid, swept(grid))
    assert figure is not None
    (panel,) = figure.axes
    assert sorted(panel.get_xticks()) == [2, 10, 20]
    assert panel.get_xlabel() == "folds"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["kind=a", "kind=b"]
    assert [points.round().tolist() for points in drawn(panel)] == [
        [[2, 1], [10, 2], [20, 0]],
        [[2, 4], [10, 5], [20, 3]],
    ]


def test_what_is_not_drawn_is_said() -> None:
    grid = parse_grid(["x=1,2,3"])
    outcomes = []
    for number, each in enumerate(grid.combinations()):
        findings = {f"n{k:02d}": Finding(k + number) for k in range(15)}
        outcomes.append(outcome(each, number, "no" if number == 2 else "", **findings))
    figure = draw("title", grid, outcomes)
    assert figure is not None
    assert len(figure.axes) == 12
    said = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "3 more numbers differ" in said
    assert "1 of 3 combinations failed" in said
    assert draw("title", grid, [outcome(each, 0, flat=Finding(1)) for each in grid.combinations()]) is None
    assert draw("title", grid, [outcome(each, 0, "failed") for each in grid.combinations()]) is None


def test_the_lines_of_a_sweep() -> None:
    first, second, third = parse_grid(["folds=5,10,20"]).combinations()
    progress = Progress(3)
    done = outcome(first, 1), outcome(second, 2, "bad\n  file: x"), outcome(third, 3)
    assert [*map(progress.done, done)] == [
        "1 of 3: folds=5: 3 jobs built, 4 reused, 2.0 s; about 4.0 s left",
        "2 of 3: folds=10: failed after 2.0 s: bad; about 2.0 s left",
        "3 of 3: folds=20: 3 jobs built, 4 reused, 2.0 s",
    ]
    traceback = "\nFailed\nTraceback (most recent call last):\n  File x\nValueError: no\n"
    of_unit = f"{traceback.replace(chr(10), chr(10) + '    ')}more\n    in unit F1 of fit\n"
    found = [*map(first_line, ("a\n b", traceback, of_unit, ""))]
    assert found == ["a", "ValueError: no", "ValueError: no, in unit F1 of fit", ""]


KEYS = st.text("abc", min_size=1, max_size=3)
PLAIN = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.text(max_size=3)),
        *(st.integers(-(10**320), 10**320), st.floats(-1e300, 1e300)),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


def numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return [float(value)] if number and abs(value) < 1e308 else []


@given(st.dictionaries(KEYS, PLAIN, max_size=4))
def test_every_number_is_a_finding(summary: dict[str, Any]) -> None:
    assert sorted(each.value or 0.0 for each in leaves(summary).values()) == sorted(numbers(summary))


def test_what_leaves_are_called() -> None:
    """What the run did is no finding; an analysis that knows a summary says itself what it found."""
    facts: dict[str, Any] = {
        "slope": 2,
        "fits": [{"name": "a", "r2": 0.5}, {"name": "b", "r2": 0.7}],
        "pair": [1, 2.5],
        "same": [{"name": "x", "n": 1}, {"name": "x", "n": 2}],
        "curve": list(range(21)),
        "fine": True,
        "words": "12",
    }
    found = {
        "slope": 2,
        "fits.a.r2": 0.5,
        "fits.b.r2": 0.7,
        "pair.1": 1,
        "pair.2": 2.5,
        "same.1.n": 1,
        "same.2.n": 2,
    }
    expected = {f"facts.{name}": value for name, value in found.items()}
    assert {name: each.value for name, each in leaves({"facts": facts}).items()} == expected
    run: dict[str, Any] = {"pipeline": "x", "seconds": 3.2, "jobs": [{"seconds": 1}], "facts": facts}
    assert {name: each.value for name, each in findings_of(run, []).items()} == expected

    def other(summary: object) -> None:
        return None

    def own(summary: object) -> dict[str, Finding]:
        return {"peak": Finding(3.0, "ms"), "p": Finding(0.5)}

    assert findings_of({"n": 1}, [other, own]) == {"peak (ms)": Finding(3.0, "ms"), "p": Finding(0.5)}
    assert findings_of({"n": 1}, [other]) == {"n": Finding(1.0)}


def test_what_differs_most_comes_first() -> None:
    def names(*runs: dict[str, float | None]) -> list[str]:
        return differing([{name: Finding(value) for name, value in run.items()} for run in runs])

    first = {"a": 100.0, "b": 1.0, "same": 3.0, "c": -1.0, "gone": 5.0}
    second = {"a": 101.0, "b": 2.0, "same": 3.0 + 1e-12, "c": 1.0}
    assert names({**first}, {**second}) == ["c", "b", "a", "gone"]
    assert names() == names({"a": None}, {"a": None}) == names({"a": 0.0}, {"a": 0.0}) == []
    assert names({"a": 0.0}, {"a": None}) == names({"a": 1.0}, {}) == ["a"]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=5))
def test_what_differs(values: list[float]) -> None:
    runs = [{"a": Finding(value)} for value in values]
    spread, largest = max(values) - min(values), max(map(abs, values))
    assert differing(runs) == (["a"] if spread > 1e-9 * largest else [])
    assert differing(runs) == differing(runs[::-1])
