"""Pages of all analyses on paper: whole, light, and no sheet wasted."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import View, opened
from report_pages import PAGES_OF

from shortloop.report.files import REPORT
from shortloop.report.style import DPI

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pypdf import PageObject
PAPER = round((210 - 2 * 16) / 25.4 * 96)
"""Pixels, between the margins of A4."""
WIDER = f"""() => [...document.querySelectorAll('table, img, p, li, h3')]
  .filter(each => each.getBoundingClientRect().right > {PAPER} + 1)
  .map(each => each.outerHTML.slice(0, 99))"""
CELLS = """() => [...document.querySelectorAll('main > section th, main > section td')]
  .filter(each => each.checkVisibility()).map(each => each.textContent)"""
SIZES = """() => [...document.images].map(each => [each.naturalWidth, each.naturalHeight,
  each.getBoundingClientRect().width, each.getBoundingClientRect().height])"""
SHEET = (297 - 2 * 18) / 25.4 * 96


@pytest.fixture(scope="module", params=PAGES_OF)
def view(
    browser: Browser, report_folder: Callable[[str], Path], request: pytest.FixtureRequest
) -> Iterator[View]:
    """The page as it will be printed, of a reader who likes pages dark."""
    with opened(browser, (report_folder(request.param) / REPORT).as_uri(), PAPER, "dark") as shown:
        shown.page.emulate_media(media="print")
        yield shown


@pytest.fixture(scope="module")
def sheets(view: View) -> list[PageObject]:
    """The sheets of paper."""
    from pypdf import PdfReader

    return list(PdfReader(BytesIO(view.page.pdf(prefer_css_page_size=True, format="A4"))).pages)


def squeezed(text: str) -> str:
    # Two letters that are printed as one are two.
    return re.sub(r"\s", "", unicodedata.normalize("NFKC", text))


def test_no_sheet_is_empty(sheets: list[PageObject]) -> None:
    assert len(sheets) > 1
    assert [number for number, sheet in enumerate(sheets, 1) if len(sheet.extract_text().split()) < 5] == []


def test_nothing_is_cut_off(view: View, sheets: list[PageObject]) -> None:
    assert view.ask(WIDER) == []
    printed = squeezed("".join(sheet.extract_text() for sheet in sheets))
    words = " ".join(view.ask(CELLS)).split()
    assert len(words) > 40
    assert [word for word in words if squeezed(word) not in printed] == []


def test_every_figure_is_printed_and_paper_is_light(view: View, sheets: list[PageObject]) -> None:
    """Letters of 9 points are never less than 6.5, and no figure is higher than a sheet or distorted."""
    images = view.ask(SIZES)
    assert sum(len(sheet.images) for sheet in sheets) == len(images)
    for wide, high, shown, shown_high in images:
        natural = wide / DPI * 96
        assert 9 * shown / natural >= 6.4
        assert shown_high < SHEET
        assert abs(shown / wide - shown_high / high) < 1e-3 * shown / wide
    colours = {"color": "rgb(27, 31, 36)", "backgroundColor": "rgb(255, 255, 255)"}
    assert {each: view.ask(f"() => getComputedStyle(document.body).{each}") for each in colours} == colours


def test_no_heading_is_left_alone_at_the_end_of_a_sheet(view: View, sheets: list[PageObject]) -> None:
    heads = view.ask("() => [...document.querySelectorAll('h2, h3, .caption')].map(each => each.textContent)")
    for sheet in sheets:
        end = squeezed(sheet.extract_text())
        assert [head for head in heads if end.endswith(squeezed(head)[-60:])] == []
