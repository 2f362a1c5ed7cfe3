"""Text in a terminal: no line is wider, nothing is lost but the middle of long names."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortloop.base.terminal import display_width, hanging, padded, shortened, table_lines, wrapped

WORDS = st.text(st.sampled_from("ab-_/ ée\u0301参加者→🧠"), max_size=60)
CELL = st.text(st.sampled_from("ab-_é参者"), max_size=40)


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("Ångström", 8), ("A\u030angstro\u0308m", 8), ("参加者", 6), ("🧠", 2), ("a\u200bb", 2)],
)
def test_widths_are_those_of_a_terminal(text: str, width: int) -> None:
    assert display_width(text) == width
    assert display_width(padded(text, 12)) == display_width(padded(text, 12, right=True)) == 12


def test_names_lose_their_middle_and_later_lines_are_indented() -> None:
    assert shortened("participant-with-a-name-session-03", 20) == "participan…ession-03"
    assert shortened("short", 5) == "short"
    assert shortened("参加者一号の録音", 9) == "参加…録音"
    assert wrapped("  · option notes: first → second", 20) == ["  · option notes:", "    first → second"]
    assert wrapped("name  a value of words", 15, " " * 6) == ["name  a value", "      of words"]
    assert hanging("built fit", "new", 80) == "built fit  new"  # what has no room behind a line is below
    assert hanging("built fit", "option a: 1 → 2", 20) == "built fit\n    option a: 1 → 2"
    assert hanging("built fit", "because " * 50, None).count("\n") == 0


@given(WORDS, st.integers(4, 40))
def test_a_shortened_name_fits(text: str, width: int) -> None:
    short = shortened(text, width)
    assert display_width(short) <= width
    assert short == text or display_width(text) > width
    end = short.partition("…")[2]
    assert not end or not unicodedata.combining(end[0]) or "…" not in short


@given(WORDS, st.integers(8, 40))
def test_wrapped_lines_fit_and_keep_all(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert max(map(display_width, lines)) <= width
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", text)


COLUMNS = ("job", "stage", "made", "seconds", "reason")


@given(st.lists(st.tuples(*[CELL] * 5), max_size=4), st.integers(24, 120))
def test_a_table_fits(rows: list[tuple[str, ...]], width: int) -> None:
    """Numbers are never shortened, so they are short here."""
    rows = [(job, stage, made, "1.5", reason) for job, stage, made, _, reason in rows]
    lines = table_lines(COLUMNS, rows, ("seconds",), width, below=("made",), wrap="reason")
    assert len(lines) == len(rows) + 1
    assert max(display_width(line) for row in lines for line in row) <= width
    for row, (*_, reason) in zip(lines[1:], rows):
        assert set(reason) <= set("".join(row))


def test_where_there_is_room_a_row_is_a_line() -> None:
    rows = [("main-1", "fit", "today", "1.0", "new"), ("main-2", "参加者", "now", "12.0", "")]
    expected = [
        ["job     stage   made   seconds  reason"],
        ["main-1  fit     today      1.0  new"],
        ["main-2  参加者  now       12.0"],
    ]
    for width in (None, 40, 80):
        assert table_lines(COLUMNS, rows, ("seconds",), width, ("made",), "reason") == expected


def test_texts_are_wrapped_and_columns_go_below_where_it_is_narrow() -> None:
    rows = [
        ("main-1", "a-stage", "2026-11-26 04:45", "1.0", "option a: 1 → 2; option b: 3 → 4; option c: 5 → 6")
    ]
    assert table_lines(COLUMNS, rows, ("seconds",), 80, ("made",), "reason")[1] == [
        "main-1  a-stage  2026-11-26 04:45      1.0  option a: 1 → 2; option b: 3 → 4;",
        "                                            option c: 5 → 6",
    ]
    assert table_lines(COLUMNS, rows, ("seconds",), 52, ("made",), "reason") == [
        ["job     stage    seconds  reason", "    made"],
        [
            "main-1  a-stage      1.0  option a: 1 → 2; option b:",
            "                          3 → 4; option c: 5 → 6",
            "    2026-11-26 04:45",
        ],
    ]
    assert table_lines(COLUMNS, rows, ("seconds",), 30, ("made",), "reason")[1] == [
        "main-1  a-stage      1.0",
        "    2026-11-26 04:45  option",
        "    a: 1 → 2; option b: 3 → 4;",
        "    option c: 5 → 6",
    ]
