"""The report page: one HTML file with all figures and their provenance, the jobs that numbers come from."""

from __future__ import annotations

import base64
import csv
import io
import json
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
from shortloop.report.style import DPI
from shortloop.report.template import PAGE
from shortloop.stages.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ADDRESS = "http://localhost:8520"
"""Default address of ``ax board-server``. The board has no access control, so it must not listen where others
can reach it; ``ax server`` itself listens on a socket, which browsers cannot open."""
BOARD_NOTE = (
    "and the jobs that it was made from, on the board of exax: on the machine where “ax server” "
    "and “ax board-server” run in the folder of the project, and while they do"
)
SHOWN_APART = ("partition", "modules")
T = TypeVar("T")
Cell = str | float | int | bool | None

NO_BREAK = re.compile(
    r"(?<=\d) (?=ms\b|s\b|%)|(?<=\b[pdα]) (?=[=<≤>])|(?<=[=<≤>]) (?=[\d(−])"
    r"|(?<=\(1) (?=\+)|(?<=\(1 \+) (?=[bm]\))"
)
"""Spaces at which no line may end: between a number and its unit, within "p = 0.01" and "(1 + b)"."""


@dataclass(frozen=True)
class Source:
    job: str  # its id
    stage: str
    partition: str  # empty: all of the data
    sibling: str  # tells the stage from others of its name in one report; empty if there is no other
    options: dict[str, Plain]
    versions: dict[str, str]


class ProvenanceRow(NamedTuple):
    """Jobs that share a stage, its options and its versions."""

    stage: str  # with the sibling
    jobs: list[tuple[str, str]]  # partition and id of each
    options: list[tuple[str, str]]
    versions: list[tuple[str, str]]


@dataclass(frozen=True)
class PageFigure:
    """A figure of a page; its pictures are in the folder of the figures, one in each format."""

    name: str  # of its files, without ending
    number: int
    title: str
    caption: str
    alt: str  # text for those who do not see it
    provenance: tuple[ProvenanceRow, ...]
    content: str = ""  # its numbers as CSV, if there is a file of these

    @property
    def file(self) -> str:
        """Path of its numbers, from the folder of the page."""
        return f"{TABLES}/{self.name}.csv" if self.content else ""


class TableRow(NamedTuple):
    name: str
    cells: tuple[str, ...]
    total: bool = False


@dataclass(frozen=True)
class PageTable:
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
    findings: tuple[str, ...] = ()  # sentences for the summary at the top of the page
    figures: tuple[PageFigure, ...] = ()
    tables: tuple[PageTable, ...] = ()
    links: tuple[PageLink, ...] = ()
    paragraphs: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    kind: str  # e.g. "Decoding report"
    title: str
    overview: str
    sections: tuple[PageSection, ...]
    limits: tuple[str, ...]  # what the results cannot show
    settings: Mapping[str, Plain]
    versions: Mapping[str, str]  # of libraries
    thread_note: str


@dataclass(frozen=True)
class Drawing(Generic[T]):
    name: str  # of its files, without ending
    result: T
    draw: Callable[..., Figure]  # takes `shown`
    title: str
    caption: str
    alt: str
    numbers: Callable[[T], str]  # gives the drawn numbers as CSV
    reads: tuple[str, ...] = ()  # fields that `draw` reads, as `only` takes them; default: all
    cost: float = 1.0  # rough time of drawing, relative to other figures

    @property
    def shown(self) -> T | SimpleNamespace:
        """All that `draw` may read; the figure is drawn again only if this changed."""
        return only(self.result, self.reads) if self.reads else self.result

    def figure(self, number: int, provenance: tuple[ProvenanceRow, ...]) -> PageFigure:
        numbers = self.numbers(self.result)
        return PageFigure(self.name, number, self.title, self.caption, self.alt, provenance, numbers)


def only(record: object, names: Iterable[str]) -> SimpleNamespace:
    """Copy the named fields of a record; ``"a.b"`` is the field ``b`` of its field ``a``."""
    inner: dict[str, list[str]] = {}
    for name in names:
        first, _, rest = name.partition(".")
        inner.setdefault(first, []).extend([rest] if rest else [])
    known = {name: getattr(record, name) for name in inner}
    for name, below in inner.items():
        if below and known[name] is not None:
            known[name] = only(known[name], below)
    return SimpleNamespace(**known)


def html_of(page: Page, figures: Mapping[str, bytes], formats: Sequence[FigureFormat] = FORMATS) -> bytes:
    need("report", REPORT_LIBRARIES)
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_printable)
    # A line may end after a dot or an underscore of a name, and nowhere else.
    parts = re.compile(r"[^._]*[._]|[^._]+").findall
    environment.filters.update(unbroken=_unbroken, marked=_marked, parts=parts)
    names = [figure.name for section in page.sections for figure in section.figures]
    html = environment.from_string(PAGE).render(
        page=page,
        images={name: _image(figures[f"{FIGURES}/{name}.png"]) for name in names},
        last_job=last_job,
        board=f"{ADDRESS}/job/",
        board_note=BOARD_NOTE,
        formats=formats,
        pairs=[
            ("Settings", "Setting", "Value", flat(page.settings), ""),
            ("Versions", "Library", "Version", sorted(page.versions.items()), page.thread_note),
        ],
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
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "part"


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow([one_line(column) for column in columns])
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"{len(row)} cells in a table of {len(columns)} columns: {row!r}")
        writer.writerow([_cell_text(cell) for cell in row])
    return stream.getvalue()


def _image(data: bytes) -> dict[str, object]:
    """Return a picture in base64, with its size and limits in CSS pixels."""
    width, height = struct.unpack(">II", data[16:24])  # the first block of a PNG file
    # A figure of 180 mm fills the column; letters of 9 points have 11 pixels at the least width on a screen,
    # and 6.5 points at the least height on paper.
    size = {"width": round(width * 118 / DPI), "height": round(height * 118 / DPI)}
    least = {"least": ceil(width * 88 / DPI), "paper": ceil(height * 69 / DPI)}
    return {"data": base64.b64encode(data).decode(), **size, **least}


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


def _cell_text(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return repr(float(cell)) if isinstance(cell, float) else one_line(cell)


def source_of(result: Result, sibling: str = "") -> Source:
    return Source(
        job=result.job,
        stage=result.stage,
        partition=result.partition or "",
        sibling=sibling,
        options={name: each for name, each in result.options.items() if name not in SHOWN_APART},
        versions=dict(result.record["versions"]),
    )


def thread_note(results: Iterable[Result]) -> str:
    most = max([pool["threads_used"] for result in results for pool in result.record["threads"]], default=1)
    count = "Every process used 1 thread" if most == 1 else f"Processes used up to {most} threads"
    return f"{count} for linear algebra, as checked where the work ran."


def provenance_rows(sources: Iterable[Source]) -> tuple[ProvenanceRow, ...]:
    rows: dict[str, ProvenanceRow] = {}
    for source in sources:
        pairs = flat(source.options)
        options = [(name, text) for name, text in pairs if not (text and text == source.partition)]
        versions = sorted((name, str(version)) for name, version in source.versions.items())
        key = json.dumps([source.stage, source.sibling, options, versions])
        told_apart = source.sibling not in ("", source.stage)
        stage = f"{source.stage}, {source.sibling}" if told_apart else source.stage
        row = rows.setdefault(key, ProvenanceRow(stage, [], options, versions))
        row.jobs.append((source.partition, source.job))
    return tuple(rows.values())


def flat(settings: Mapping[str, Plain], prefix: str = "") -> list[tuple[str, str]]:
    """Return nested settings as pairs of dotted name and text."""
    pairs: list[tuple[str, str]] = []
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            pairs += flat(value, f"{prefix}{name}.")
        else:
            pairs.append((f"{prefix}{name}", shown(value)))
    return pairs


def shown(value: Plain) -> str:
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown(item) for item in value) if value else "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def last_job(rows: Sequence[ProvenanceRow]) -> tuple[str, str]:
    """Return partition and id of the last job, of those for all of the data if there are any."""
    jobs = [job for row in rows for job in row.jobs]
    return ([job for job in jobs if not job[0]] or jobs or [("", "")])[-1]
