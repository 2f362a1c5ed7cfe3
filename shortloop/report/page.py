"""The report page: one HTML file with all figures and their provenance."""

from __future__ import annotations

import base64
import csv
import io
import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from types import SimpleNamespace
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from shortloop.base.extras import REPORT_LIBRARIES, need
from shortloop.base.plain import Plain
from shortloop.base.text import one_line, printable
from shortloop.report.files import FIGURES, FORMATS, TABLES, FigureFormat
from shortloop.report.provenance import ProvenanceRow, board_link, flat, last_job
from shortloop.report.style import DPI
from shortloop.report.template import PAGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


T = TypeVar("T")
Cell = str | float | int | bool | None

NO_BREAK = re.compile(
    r"(?<=\d) (?=ms\b|s\b|%)|(?<=\b[pdα]) (?=[=<≤>])|(?<=[=<≤>]) (?=[\d(−])"
    r"|(?<=\(1) (?=\+)|(?<=\(1 \+) (?=[bm]\))"
)
"""Spaces at which no line may end: between a number and its unit, within "p = 0.01" and "(1 + b)"."""


@dataclass(frozen=True)
class PageFigure:
    """A figure of a page; its pictures are in the folder of the figures, one in each format."""

    name: str  # of its files, without ending
    number: int
    title: str
    caption: str
    alt: str  # text for those who do not see it
    provenance: tuple[ProvenanceRow, ...]
    file: str = ""  # path of its numbers as text, from the folder of the page, if there is such a file
    content: str = ""  # of that file


class TableRow(NamedTuple):
    """A row of a table, with a cell for each column; `total` if it sums up the rows above."""

    name: str
    cells: tuple[str, ...]
    total: bool = False


@dataclass(frozen=True)
class PageTable:
    """A table, with its title and caption above it."""

    title: str
    caption: str
    of: str  # head of the column that names the rows
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    file: str = ""  # path of the same as text, from the folder of the page, if there is such a file
    content: str = ""  # of that file
    words: bool = False  # cells are words, not numbers


class PageLink(NamedTuple):
    """A file beside the page, and what it is; `content` if nothing else writes the file."""

    path: str
    text: str
    content: str = ""


@dataclass(frozen=True)
class PageSection:
    """A section of a page: paragraphs, references, figures, tables and links, in this order."""

    id: str
    title: str
    findings: tuple[str, ...]  # sentences for the summary at the top of the page
    figures: tuple[PageFigure, ...]
    tables: tuple[PageTable, ...]
    links: tuple[PageLink, ...] = ()
    paragraphs: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page of a report."""

    kind: str  # e.g. "Decoding report"
    title: str
    overview: str
    sections: tuple[PageSection, ...]
    limits: tuple[str, ...]  # what the results cannot show
    settings: Mapping[str, Plain]
    versions: Mapping[str, str]  # of libraries
    thread_note: str


class Image(NamedTuple):
    """A picture in base64, with its size and limits in CSS pixels."""

    data: str
    width: int
    height: int
    least: int  # width at which its letters can be read on a screen
    paper: int  # least height on paper


@dataclass(frozen=True)
class Drawing(Generic[T]):
    """A figure to be drawn, and the words of the page about it."""

    name: str  # of its files, without ending
    result: T
    draw: Callable[..., Figure]  # takes `shown`
    title: str
    caption: str
    alt: str
    numbers: Callable[[T], str]  # gives the drawn numbers as CSV
    reads: tuple[str, ...] = ()  # fields that `draw` reads, as `only` takes them; default: all

    cost = 1.0

    @property
    def shown(self) -> T | SimpleNamespace:
        """All that `draw` may read; the figure is drawn again only if this changed."""
        return only(self.result, self.reads) if self.reads else self.result

    def figure(self, number: int, provenance: tuple[ProvenanceRow, ...]) -> PageFigure:
        """Place the figure on the page."""
        file, content = f"{TABLES}/{self.name}.csv", self.numbers(self.result)
        return PageFigure(self.name, number, self.title, self.caption, self.alt, provenance, file, content)


def only(record: object, names: Iterable[str]) -> SimpleNamespace:
    """Copy the named fields of a record; ``"a.b"`` is the field ``b`` of its field ``a``."""
    inner: dict[str, list[str]] = {}
    for name in names:
        first, _, rest = name.partition(".")
        inner.setdefault(first, []).extend([rest] if rest else [])
    known = {name: getattr(record, name) for name in inner}
    return SimpleNamespace(
        **{
            name: only(known[name], rest) if rest and known[name] is not None else known[name]
            for name, rest in inner.items()
        }
    )


def html_of(page: Page, figures: Mapping[str, bytes], formats: Sequence[FigureFormat] = FORMATS) -> bytes:
    """Render a page that needs no other file and no network; `figures` are pictures by their paths."""
    need("report", REPORT_LIBRARIES)
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    environment.filters.update(unbroken=_unbroken, marked=_marked, parts=_parts)
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
    """Return the tables and texts that a page brings along, by path."""
    found: list[tuple[str, str]] = []
    for section in page.sections:
        found += [(figure.file, figure.content) for figure in section.figures]
        found += [(table.file, table.content) for table in section.tables]
        found += [(link.path, link.content) for link in section.links]
    return {path: content.encode() for path, content in found if path and content}


def slug(text: str) -> str:
    """Return a text as a name for files and links."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "part"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Format a table as CSV."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow([one_line(column) for column in columns])
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{len(row)} cells in a table of {len(columns)} columns: {row!r}")
        writer.writerow([_cell_text(cell) for cell in row])
    return stream.getvalue()


def _image(data: bytes) -> Image:
    # The first block of a PNG file: width and height in pixels.
    width, height = struct.unpack(">II", data[16:24])
    # A figure of 180 mm fills the column; letters of 9 points have 11 pixels at the least width.
    across, high = round(width * 118 / DPI), round(height * 118 / DPI)
    least, paper = ceil(width * 88 / DPI), ceil(height * 69 / DPI)  # of 6.5 points there
    return Image(base64.b64encode(data).decode(), across, high, least, paper)


def _printable(value: object) -> object:
    # The parts of markup have been through here already.
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _unbroken(text: str) -> str:
    return NO_BREAK.sub("\u00a0", text)


def _marked(text: str) -> str:
    """As `_unbroken`, with text between backticks as code."""
    from markupsafe import Markup

    parts = text.split("`")
    if len(parts) % 2 == 0:  # one backtick is part of a name
        return _unbroken(text)
    code = Markup("<code>{}</code>")
    return Markup().join(
        code.format(printable(part)) if place % 2 else printable(_unbroken(part))
        for place, part in enumerate(parts)
    )


def _parts(name: str) -> list[str]:
    # A line may end after a dot or an underscore, and nowhere else in a name.
    return re.findall(r"[^._]*[._]|[^._]+", name)


def _cell_text(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return repr(float(cell)) if isinstance(cell, float) else one_line(cell)
