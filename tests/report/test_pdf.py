"""Pages of a PDF: where things are, what can be read and copied, and that the bytes tell nothing else."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_reader import PdfFile

from shortloop.base.text import one_line
from shortloop.report.pdf import Canvas, Sheet, document, fitting, font, width_of


def sheet(text: str = "one", title: str = "a page") -> Sheet:
    canvas = Canvas(200, 100)
    canvas.text(10, 20, text)
    return canvas.sheet(title)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None)
def test_any_text_is_read_as_it_is_shown(texts: list[str]) -> None:
    """Also of pages that came back from bytes."""
    sheets = [sheet(text, f"{number} {text}") for number, text in enumerate(texts)]
    again = [Sheet.from_bytes(each.to_bytes()) for each in sheets]
    assert again == sheets
    data = document(again, texts[0])
    assert data == document(sheets, texts[0])
    file = PdfFile(data)
    for number, text in enumerate(texts):
        assert file.texts(number) == ["".join(c if ord(c) in font().cmap else "?" for c in one_line(text))]
    assert file.bookmarks == [(one_line(f"{number} {text}"), number) for number, text in enumerate(texts)]
    assert file.title == one_line(texts[0])


def test_the_font_has_what_is_written_and_little_else() -> None:
    from fontTools.ttLib import TTFont

    data = PdfFile(document([sheet("Łódź αβγ −5")], "x")).font_file()
    assert len(data) < 60_000
    outlines = TTFont(io.BytesIO(data))["glyf"]
    names = outlines.glyphOrder
    drawn = {number for number, name in enumerate(names) if outlines[name].numberOfContours != 0}
    assert {font().cmap[ord(each)][0] for each in "Łódźαβγ−5"} <= drawn
    assert len(drawn) < 20  # with the parts of letters that are put together, and the box


def test_texts_are_where_they_are_said_to_be() -> None:
    canvas = Canvas(200, 100)
    for align in ("left", "center", "right"):
        canvas.text(100, 50, "wide", 10, align=align)
    canvas.text(100, 50, "wide", 10, align="center", upward=True)
    drawn = PdfFile(document([canvas.sheet("x")], "x")).pages[0]
    width = width_of("wide", 10)
    assert width == pytest.approx(10 * (0.818 + 0.278 + 0.635 + 0.615), abs=0.02)  # of DejaVu Sans
    found = [(float(x), float(y)) for x, y in re.findall(r"(\S+) (\S+) Tm", drawn)]
    wanted = [(100, 50), (100 - width / 2, 50), (100 - width, 50), (100, 50 - width / 2)]
    np.testing.assert_allclose(found, wanted, atol=0.006)


def test_dots_and_lines_are_where_they_are_said_to_be() -> None:
    canvas = Canvas(200, 100)
    canvas.dots([1.26, 150], [2, 99.94], "#0072B2", 3.0)
    canvas.dots([], [], "#0072B2")
    canvas.lines(np.array([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12.345]]]), "#FF0000", 2, (4, 3))
    canvas.lines(np.empty((0, 2, 2)), "#FF0000")
    drawn = PdfFile(document([canvas.sheet("x")], "x")).pages[0]
    assert "30 w 0.1 0 0 0.1 0 0 cm\n13 20 m 14 20 l S\n1500 999 m 1501 999 l S\nQ" in drawn
    assert "1 0 0 RG 2 w [4 3] 0 d\n1.00 2.00 m 3.00 4.00 l 5.00 6.00 l\n7.00 8.00 m" in drawn
    assert drawn.count("q ") == drawn.count("Q\n") == 2


@given(st.text(min_size=1, max_size=60), st.floats(20, 200))
@settings(deadline=None)
def test_a_text_is_cut_to_the_room_there_is(text: str, room: float) -> None:
    cut = fitting(text, 9, room)
    assert width_of(cut, 9) <= room
    assert cut == one_line(text) or cut.endswith("…")
