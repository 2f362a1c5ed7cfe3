"""Draw PDF pages in any process and join them.

A page of small plots takes matplotlib a quarter of a second, nearly all of it for axes and texts. Here a page
is a list of strokes and texts, which is written at once and compressed where it is drawn (PDF Reference 1.7,
sections 4 and 5). Nothing in a file tells when or by how many processes it was made.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from shortloop.base.text import one_line
from shortloop.report.pdf_font import COMPRESSION, font, width_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Canvas", "Sheet", "document"]

Align = Literal["left", "center", "right"]
TENTHS = 10
"""Dots lie at tenths of a point, 0.04 mm, which no printer tells apart."""
DOT = "%d %d m %d %d l S\n"  # hardly a line, with round ends: what has no length is not drawn by all


@dataclass(frozen=True)
class Sheet:
    """A page that is drawn.

    title: its bookmark.
    size: width and height in points, 1/72 inch.
    characters: those that are written on it.
    content: what is drawn, compressed.
    """

    title: str
    size: tuple[float, float]
    characters: str
    content: bytes

    def to_bytes(self) -> bytes:
        """As the content of a file."""
        head = json.dumps([self.title, self.size, self.characters, len(self.content)]).encode()
        return head + b"\n" + self.content

    @classmethod
    def from_bytes(cls, data: bytes) -> list[Sheet]:
        """Read pages again."""
        found, place = [], 0
        while place < len(data):
            begin = data.index(b"\n", place) + 1
            title, (width, height), characters, length = json.loads(data[place:begin])
            place = begin + length
            found.append(cls(title, (width, height), characters, data[begin:place]))
        return found


class Canvas:
    """A page to draw on, in points from its lower left corner.

    width, height: of the page.
    """

    def __init__(self, width: float, height: float) -> None:
        self._size = width, height
        self._parts: list[str] = []
        self._characters: set[str] = set()

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float = 9.0,
        *,
        align: Align = "left",
        color: str = "#000000",
        upward: bool = False,
    ) -> None:
        """Write a line."""
        glyphs = font().cmap
        text = one_line(text)
        self._characters.update(text)
        codes = "".join(f"{glyphs.get(ord(each), (0, 0))[0]:04X}" for each in text)
        before = {"left": 0.0, "center": 0.5, "right": 1.0}[align]
        before = before * width_of(text, size) if before else 0.0
        turn, x, y = ("0 1 -1 0", x, y - before) if upward else ("1 0 0 1", x - before, y)
        self._parts.append(f"BT /F {size:g} Tf {_rgb(color)} rg {turn} {x:.2f} {y:.2f} Tm <{codes}> Tj ET\n")

    def lines(
        self, points: ArrayLike, color: str, width: float = 0.8, dashes: tuple[float, ...] = ()
    ) -> None:
        """Draw lines from point to point.

        points: (lines, points, 2). Where to.
        """
        values = np.asarray(points, np.float64)
        if not values.size:
            return
        some = "%.2f %.2f m" + " %.2f %.2f l" * (values.shape[1] - 1) + "\n"
        drawn = (some * len(values)) % tuple(values.ravel().tolist())
        how = " ".join(f"{each:g}" for each in dashes)
        self._parts.append(f"q {_rgb(color)} RG {width:g} w [{how}] 0 d\n{drawn}S Q\n")

    def dots(self, x: ArrayLike, y: ArrayLike, color: str, width: float = 2.6, opacity: int = 6) -> None:
        """Draw round dots.

        x, y: (dots,). Where they are.
        """
        across, up = (np.rint(TENTHS * np.asarray(each)).astype(np.int64) for each in (x, y))
        if not len(across):
            return
        drawn = (DOT * len(across)) % tuple(np.stack([across, up, across + 1, up], 1).ravel().tolist())
        self._parts.append(
            f"q /A{opacity} gs {_rgb(color)} RG 1 J {TENTHS * width:g} w "
            f"{1 / TENTHS:g} 0 0 {1 / TENTHS:g} 0 0 cm\n"
            f"{drawn}Q\n"
        )

    def fill(self, points: ArrayLike, color: str, opacity: int = 2) -> None:
        """Fill an area.

        points: (points, 2). Its corners.
        """
        values = np.asarray(points, np.float64)
        drawn = ("%.2f %.2f m" + " %.2f %.2f l" * (len(values) - 1)) % tuple(values.ravel().tolist())
        self._parts.append(f"q /A{opacity} gs {_rgb(color)} rg {drawn} f Q\n")

    @contextmanager
    def clipped(self, x: float, y: float, width: float, height: float) -> Iterator[None]:
        """Draw what is within this in a rectangle only."""
        self._parts.append(f"q {x:.2f} {y:.2f} {width:.2f} {height:.2f} re W n\n")
        yield
        self._parts.append("Q\n")

    def sheet(self, title: str) -> Sheet:
        """The page, as it is drawn by now."""
        content = zlib.compress("".join(self._parts).encode("ascii"), COMPRESSION)
        return Sheet(one_line(title), self._size, "".join(sorted(self._characters)), content)


def document(sheets: Sequence[Sheet], title: str) -> bytes:
    """Put pages together."""
    objects: list[bytes] = []

    def add(body: str | bytes, stream: bytes | None = None) -> int:
        data = body.encode("ascii") if isinstance(body, str) else body
        if stream is not None:
            data = b"<< %s /Length %d >>\nstream\n%s\nendstream" % (data, len(stream), stream)
        objects.append(data)
        return len(objects)

    count = len(sheets)
    first, marks = 4, 4 + 2 * count  # after catalog, tree and outline; each page is followed by its content
    fonts = marks + count
    for head in (
        "<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R /PageMode /UseOutlines >>",
        f"<< /Type /Pages /Count {count} /Kids [{' '.join(f'{first + 2 * i} 0 R' for i in range(count))}] "
        f"/Resources << /Font << /F {fonts} 0 R >> /ExtGState << {_opacities()} >> >> >>",
        f"<< /Type /Outlines /Count {count} /First {marks} 0 R /Last {marks + count - 1} 0 R >>",
    ):
        add(head)
    for i, sheet in enumerate(sheets):
        width, height = sheet.size
        box = f"/MediaBox [0 0 {width:g} {height:g}]"
        add(f"<< /Type /Page /Parent 2 0 R {box} /Contents {first + 2 * i + 1} 0 R >>")
        add("/Filter /FlateDecode", sheet.content)
    for i, sheet in enumerate(sheets):
        beside = (f" /Prev {marks + i - 1} 0 R" if i else "") + (
            f" /Next {marks + i + 1} 0 R" if i < count - 1 else ""
        )
        add(f"<< /Title {_string(sheet.title)} /Parent 3 0 R /Dest [{first + 2 * i} 0 R /Fit]{beside} >>")
    for body, stream in font().objects("".join(sheet.characters for sheet in sheets), fonts):
        add(body, stream)
    info = add(f"<< /Title {_string(one_line(title))} >>")
    return _file(objects, info)


def _file(objects: Sequence[bytes], info: int) -> bytes:
    """Objects, and a table of where each begins."""
    found = io.BytesIO()
    found.write(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(found.tell())
        found.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = found.tell()
    found.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    found.writelines(b"%010d 00000 n \n" % place for place in places)
    found.write(b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (len(objects) + 1, info))
    found.write(b"startxref\n%d\n%%%%EOF\n" % table)
    return found.getvalue()


@lru_cache(maxsize=64)
def _rgb(color: str) -> str:
    return " ".join(f"{int(color[i : i + 2], 16) / 255:.3g}" for i in (1, 3, 5))


def _opacities() -> str:
    return " ".join(f"/A{tenth} << /CA {tenth / 10:g} /ca {tenth / 10:g} >>" for tenth in range(1, 11))


def _string(text: str) -> str:
    return f"<{(chr(0xFEFF) + text).encode('utf-16-be').hex()}>"
