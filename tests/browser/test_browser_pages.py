"""Pages of all analyses in a real browser: on a desk and on a phone, light and dark, by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest
from browser import View, opened
from PIL import Image
from report_pages import PAGES_OF

from shortloop.report.files import FIGURES, REPORT
from shortloop.report.page import ADDRESS

if TYPE_CHECKING:
    from playwright.sync_api import Browser
LEAST = 11
"""Pixels, of the smallest letters."""
WORD = 24
"""Letters of the longest word that must stay whole."""

# All that a reader may unfold is unfolded.
UNFOLD = "() => document.querySelectorAll('details').forEach(each => { each.open = true })"
TEXTS = """const texts = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (walker.currentNode.data.trim()) texts.push(walker.currentNode);"""
SMALL = f"""() => {{ {TEXTS}
  return texts.filter(each => parseFloat(getComputedStyle(each.parentElement).fontSize) < {LEAST})
    .map(each => each.data) }}"""
# A word may be cut after a hyphen or a slash.
BROKEN = f"""() => {{ {TEXTS}
  const broken = [], range = document.createRange();
  for (const text of texts)
    for (const word of text.data.matchAll(/[^\\s\\-–—/]+/g)) {{
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(each => Math.round(each.top)));
      if (lines.size > 1 && word[0].length <= {WORD}) broken.push(word[0]);
    }}
  return broken }}"""
SCROLLING = """() => [...document.querySelectorAll('*')].filter(each =>
    each.scrollWidth > each.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(each).overflowX))
  .map(each => [each.getAttribute('role'), each.getAttribute('aria-label')])"""
IMAGES = """() => [...document.images].map(each =>
  [each.naturalWidth, each.naturalHeight, each.getBoundingClientRect().width])"""
COLOUR = "() => getComputedStyle(document.body).backgroundColor"
PLATE = "() => getComputedStyle(document.querySelector('figure img').parentElement).backgroundColor"
VIEWS = [
    pytest.param(name, view, marks=[pytest.mark.slow] * slow)
    for name in PAGES_OF
    for view, slow in (
        ((1280, "light"), False),
        ((400, "dark"), False),
        ((1280, "dark"), True),
        ((400, "light"), True),
    )
]
"""Each width and each scheme; all pairs of them are for the slow tests."""


@pytest.fixture(scope="module")
def folder(report_folder: Callable[[str], Path], request: pytest.FixtureRequest) -> Path:
    """Of a page and all beside it."""
    return report_folder(request.param)


@pytest.fixture(scope="module")
def view(browser: Browser, folder: Path, request: pytest.FixtureRequest) -> Iterator[View]:
    """The page, unfolded."""
    width, scheme = request.param
    with opened(browser, (folder / REPORT).as_uri(), width, scheme) as shown:
        shown.ask(UNFOLD)
        yield shown


every_view = pytest.mark.parametrize(("folder", "view"), VIEWS, indirect=True)
on_a_phone = pytest.mark.parametrize(
    ("folder", "view"), [(name, (400, "dark")) for name in PAGES_OF], indirect=True
)


@every_view
def test_neither_the_browser_nor_axe_has_anything_to_complain_of(view: View) -> None:
    from axe_playwright_python.sync_playwright import Axe

    assert view.complaints == []
    found = Axe().run(view.page).response
    assert len(found["passes"]) > 20
    assert [
        (each["id"], node["html"], node["failureSummary"])
        for each in found["violations"]
        for node in each["nodes"]
    ] == []


@every_view
def test_it_is_as_light_or_dark_as_asked_and_figures_are_on_white(view: View) -> None:
    brightness = sum(map(int, re.findall(r"\d+", view.ask(COLOUR)))) / 3
    assert brightness < 40 if view.scheme == "dark" else brightness == 255
    if view.scheme == "dark" and has_figures(view):
        assert view.ask(PLATE) == "rgb(255, 255, 255)"


def has_figures(view: View) -> bool:
    """True for all pages but that of data frames, which is one table."""
    return bool(view.ask("() => document.title") != "a: data frames")


@every_view
def test_every_figure_is_there_and_can_be_read(view: View, folder: Path) -> None:
    files = []
    for file in (folder / FIGURES).glob("*.png"):
        with Image.open(file) as image:
            files.append((*image.size, 9 / 72 * image.info["dpi"][0]))  # letters have 9 points at least
    images = view.ask(IMAGES)
    assert sorted((width, height) for width, height, _ in images) == sorted(each[:2] for each in files)
    assert bool(images) == has_figures(view)
    letters = {round(size) for *_, size in files}
    assert len(letters) <= 1
    for width, _, shown in images:
        assert max(letters) * shown / width >= LEAST - 0.5


@every_view
def test_nothing_is_wider_than_the_window_no_letters_are_tiny_and_no_word_is_cut(view: View) -> None:
    assert view.ask("() => document.documentElement.scrollWidth") == view.width
    assert view.ask(SMALL) == []
    assert view.ask(BROKEN) == []


@on_a_phone
def test_every_link_leads_somewhere(view: View, folder: Path) -> None:
    all_links = view.ask("() => [...document.links].map(each => each.href)")
    links = [link for link in all_links if not link.startswith(ADDRESS)]  # no board runs here
    assert (len(links) < len(all_links)) == has_figures(view)
    beside = {unquote(urlsplit(link).path) for link in links}
    assert len(beside) > has_figures(view)
    assert str(folder / REPORT) in beside
    assert [path for path in beside if not Path(path).stat().st_size] == []
    anchors = [urlsplit(link).fragment for link in links if urlsplit(link).fragment]
    assert len(anchors) > 2
    for anchor in anchors:
        view.page.goto(f"{(folder / REPORT).as_uri()}#{anchor}")
        assert view.ask("() => document.querySelector(':target h2') !== null"), anchor


@every_view
def test_what_scrolls_is_a_tab_stop_and_what_does_not_is_none(view: View) -> None:
    stops = "() => [...document.querySelectorAll('[tabindex]')].map(each => each.getAttribute('aria-label'))"
    assert view.ask(stops) == [label for _, label in view.ask(SCROLLING)]


@on_a_phone
def test_what_scrolls_does_so_by_keyboard(view: View) -> None:
    regions = view.ask(SCROLLING)
    assert len(regions) > has_figures(view)
    assert all(role == "group" and label for role, label in regions)
    labels = {label for _, label in regions}
    assert len(labels) == len(regions)
    view.page.focus("h1 + .summary + nav a")
    reached: set[str] = set()
    for _ in range(view.ask("() => document.querySelectorAll('a, summary, [tabindex]').length")):
        view.page.keyboard.press("Tab")
        if (label := view.ask("() => document.activeElement.getAttribute('aria-label')")) in labels - reached:
            reached.add(label)
            view.page.keyboard.press("ArrowRight")
            view.page.wait_for_function("() => document.activeElement.scrollLeft > 0", timeout=5000)
    assert reached == labels
