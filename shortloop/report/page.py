"""The report page: one HTML file with all figures and their provenance."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from shortloop.base.extras import REPORT_LIBRARIES, need
from shortloop.base.plain import Plain
from shortloop.base.text import printable
from shortloop.report.board import board_link, last_job
from shortloop.report.files import FIGURES, FORMATS, FigureFormat
from shortloop.report.provenance import ProvenanceRow, flat
from shortloop.report.style import DPI
from shortloop.report.template import PAGE

__all__ = [
    "Page",
    "PageFigure",
    "PageLink",
    "PageSection",
    "PageTable",
    "TableRow",
    "files_beside",
    "html_of",
    "slug",
]

BOUND = re.compile(
    r"(?<=\d) (?=ms\b|s\b|%)|(?<=\b[pdα]) (?=[=<≤>])|(?<=[=<≤>]) (?=[\d(−])"
    r"|(?<=\(1) (?=\+)|(?<=\(1 \+) (?=[bm]\))"
)
"""Spaces at which no line may end."""


@dataclass(frozen=True)
class PageFigure:
    """A figure of a page.

    name: its file name without ending; it is in the folder of the figures in each of the formats.
    number: its number on the page.
    title, caption: shown below it.
    alt: what it says, for those who do not see it.
    provenance: where it comes from.
    file: path of its numbers as text, from the folder of the page; empty: there is none.
    content: what is in that file.
    """

    name: str
    number: int
    title: str
    caption: str
    alt: str
    provenance: tuple[ProvenanceRow, ...]
    file: str = ""
    content: str = ""


class TableRow(NamedTuple):
    """A row of a table of numbers.

    name: what the numbers are of.
    cells: one for each column.
    total: whether it sums up the rows above.
    """

    name: str
    cells: tuple[str, ...]
    total: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table of numbers.

    title, caption: shown above it.
    of: what the rows are of.
    columns: heads of the columns of numbers.
    file: path of the same as text, from the folder of the page; empty: there is none.
    content: what is in that file.
    words: whether the cells are words, and not numbers.
    """

    title: str
    caption: str
    of: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    file: str = ""
    content: str = ""
    words: bool = False


class PageLink(NamedTuple):
    """A file beside the page.

    path: from the folder of the page.
    text: what it is.
    content: what is in it, if that is not written elsewhere.
    """

    path: str
    text: str
    content: str = ""


@dataclass(frozen=True)
class PageSection:
    """A section of a page.

    id: what links to it lead to.
    findings: what was found: sentences for the top of the page.
    tables: shown below the figures.
    links: shown below the tables.
    paragraphs: Text, shown first.
    references: what the text cites, shown below it.
    """

    id: str
    title: str
    findings: tuple[str, ...]
    figures: tuple[PageFigure, ...]
    tables: tuple[PageTable, ...]
    links: tuple[PageLink, ...] = ()
    paragraphs: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page of a report.

    kind: what kind of report it is, e.g. ``"Decoding report"``.
    overview: its first words.
    limits: what cannot be said from the results.
    settings: plain data.
    versions: of libraries.
    thread_note: what was found of the number of threads; may be empty.
    """

    kind: str
    title: str
    overview: str
    sections: tuple[PageSection, ...]
    limits: tuple[str, ...]
    settings: Mapping[str, Plain]
    versions: Mapping[str, str]
    thread_note: str


class Image(NamedTuple):
    """A picture in a page: its bytes in base64, its size in the units of CSS, the least width at which its
    letters can be read on a screen, and the least height on paper."""

    data: str
    width: int
    height: int
    least: int
    paper: int


def html_of(page: Page, figures: Mapping[str, bytes], formats: Sequence[FigureFormat] = FORMATS) -> bytes:
    """Write a page that needs no other file and no network.

    `figures` are the files of its figures, by path below the folder of the report.
    """
    need("report", REPORT_LIBRARIES)
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_visible)
    environment.filters["unbroken"] = _unbroken
    environment.filters["marked"] = _marked
    environment.filters["parts"] = _parts
    last = {
        figure.name: last_job(figure.provenance) for section in page.sections for figure in section.figures
    }
    html = environment.from_string(PAGE).render(
        page=page,
        images={name: _image(figures[f"{FIGURES}/{name}.png"]) for name in last},
        boards={name: board_link(job, whose) if job else None for name, (whose, job) in last.items()},
        formats=formats,
        settings=flat(page.settings),
        versions=sorted(page.versions.items()),
    )
    return html.encode()


def files_beside(page: Page) -> dict[str, bytes]:
    """The files that a page links to and brings along: tables and texts, but not pictures."""
    found: list[tuple[str, str]] = []
    for section in page.sections:
        found += [(figure.file, figure.content) for figure in section.figures]
        found += [(table.file, table.content) for table in section.tables]
        found += [(link.path, link.content) for link in section.links]
    return {path: content.encode() for path, content in found if path and content}


def slug(text: str) -> str:
    """A name that can stand in a file name and in a link."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "part"


def _image(data: bytes) -> Image:
    # The first block of a PNG file: width and height in pixels.
    width, height = struct.unpack(">II", data[16:24])
    # A figure of 180 mm fills the column; letters of 9 points have 11 pixels at the least width.
    across, high = round(width * 118 / DPI), round(height * 118 / DPI)
    least, paper = ceil(width * 88 / DPI), ceil(height * 69 / DPI)  # of 6.5 points there
    return Image(base64.b64encode(data).decode(), across, high, least, paper)


def _visible(value: object) -> object:
    # What is markup has been through here, part by part.
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _unbroken(text: str) -> str:
    # No line may end between a number and its unit, or within "p = 0.01" and "(1 + b)".
    return BOUND.sub("\u00a0", text)


def _marked(text: str) -> str:
    """As `_unbroken`; what is between backticks is code here, as it is for readers of a terminal."""
    from markupsafe import Markup

    parts = text.split("`")
    if len(parts) % 2 == 0:  # one of them is a letter of a name
        return _unbroken(text)
    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(printable(part)) if place % 2 else printable(_unbroken(part))
        for place, part in enumerate(parts)
    )


def _parts(name: str) -> list[str]:
    # A line may end after a dot or an underscore, and nowhere else in a name.
    return re.findall(r"[^._]*[._]|[^._]+", name)
