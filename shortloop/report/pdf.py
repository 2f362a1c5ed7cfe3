"""Draw PDF pages in any process and join them.

A page of small plots takes matplotlib a quarter of a second, nearly all of it for axes and texts. Here a page
is a list of strokes and texts, compressed in the process that draws it (PDF Reference 1.7, sections 4 and 5).
Files are the same whenever made, by any number of processes.
"""

from __future__ import annotations

import importlib.util
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from shortloop.base.extras import REPORT_LIBRARIES, need
from shortloop.base.text import one_line

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

COMPRESSION = 1  # the best one takes seven times as long for a tenth less
FONT = "mpl-data/fonts/ttf/DejaVuSans.ttf"
OPACITIES = " ".join(f"/A{tenth} << /CA {tenth / 10:g} /ca {tenth / 10:g} >>" for tenth in range(1, 11))
TENTHS = 10  # dots lie at tenths of a point, 0.04 mm, which no printer tells apart
DOT = "%d %d m %d %d l S\n"  # a very short line with round ends: some viewers do not draw one without length


class Font:
    """DejaVu Sans from matplotlib: the same letters on every machine."""

    def __init__(self) -> None:
        need("report", REPORT_LIBRARIES)
        from fontTools.ttLib import TTFont

        spec: Any = importlib.util.find_spec("matplotlib")  # which takes long to import
        self._file = Path(spec.submodule_search_locations[0]) / FONT
        read: Any = TTFont(self._file, lazy=True)
        metrics, glyphs = read["hmtx"].metrics, read.getReverseGlyphMap()
        self.unit: int = read["head"].unitsPerEm
        self.cmap = {code: (glyphs[name], metrics[name][0]) for code, name in read.getBestCmap().items()}
        self.missing = 0, metrics[".notdef"][0]

    def objects(self, characters: str, number: int) -> list[bytes]:
        """Return the objects of a PDF, from this number on, for the font reduced to some characters."""
        codes = sorted(ord(each) for each in set(characters) if ord(each) in self.cmap)
        widths = dict([self.missing, *map(self.cmap.__getitem__, codes)])
        scale = 1000.0 / self.unit
        listed = " ".join(f"{glyph} [{scale * width:.0f}]" for glyph, width in sorted(widths.items()))
        name = "/BaseFont /SHRTLP+DejaVuSans"
        data = self._cut(codes)
        heads = (
            f"<< /Type /Font /Subtype /Type0 {name} /Encoding /Identity-H "
            f"/DescendantFonts [{number + 1} 0 R] /ToUnicode {number + 4} 0 R >>",
            f"<< /Type /Font /Subtype /CIDFontType2 {name} /CIDToGIDMap /Identity "
            "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
            f"/FontDescriptor {number + 2} 0 R /W [{listed}] >>",
            "<< /Type /FontDescriptor /FontName /SHRTLP+DejaVuSans /Flags 4 /ItalicAngle 0 /StemV 80 "
            "/FontBBox [-1021 -463 1793 1232] /Ascent 928 /Descent -236 /CapHeight 729 "
            f"/FontFile2 {number + 3} 0 R >>",
        )
        outlines = _stream(f"/Filter /FlateDecode /Length1 {len(data)}", zlib.compress(data, COMPRESSION))
        return [*(head.encode("ascii") for head in heads), outlines, _stream("", self._unicode(codes))]

    def _cut(self, codes: Sequence[int]) -> bytes:
        """Return the outlines of some characters, each under its number in the whole font."""
        from fontTools import subset

        kept = {"retain_gids": True, "hinting": False, "notdef_outline": True, "glyph_names": False}
        options = subset.Options(layout_features=[], recalc_timestamp=False, **kept)
        options.drop_tables += ["FFTM", "GDEF", "GPOS", "GSUB", "MATH", "OS/2", "kern", "name", "post"]
        small = subset.load_font(self._file, options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=codes)
        cutter.subset(small)
        found = io.BytesIO()
        small.save(found, reorderTables=None)
        return found.getvalue()

    def _unicode(self, codes: Sequence[int]) -> bytes:
        """Map glyphs to characters, so that text can be searched and copied."""
        rows = [f"<{self.cmap[code][0]:04X}> <{chr(code).encode('utf-16-be').hex()}>" for code in codes]
        parts = [rows[first : first + 100] for first in range(0, len(rows), 100)]  # no more may be in one
        listed = "".join(f"{len(part)} beginbfchar\n" + "\n".join(part) + "\nendbfchar\n" for part in parts)
        return (
            "/CIDInit /ProcSet findresource begin 12 dict begin begincmap\n"
            "/CMapName /Adobe-Identity-UCS def /CMapType 2 def\n"
            f"1 begincodespacerange <0000> <FFFF> endcodespacerange\n{listed}"
            "endcmap CMapName currentdict /CMap defineresource pop end end"
        ).encode()


@lru_cache(maxsize=1)
def font() -> Font:
    return Font()


def width_of(text: str, size: float) -> float:
    """Return the length of a line of text, in points."""
    letters = font()
    units: int = sum(letters.cmap.get(ord(each), letters.missing)[1] for each in text)
    return size * units / letters.unit


def fitting(text: str, size: float, length: float) -> str:
    text = one_line(text)
    if width_of(text, size) <= length:
        return text
    while text and width_of(f"{text}…", size) > length:
        text = text[:-1]
    return f"{text.rstrip()}…"


@dataclass(frozen=True)
class Sheet:
    title: str  # of its bookmark
    size: tuple[float, float]  # width and height in points, 1/72 inch
    characters: str  # that occur on it
    content: bytes  # compressed

    def to_bytes(self) -> bytes:
        """Serialize the page, for `from_bytes` in another process."""
        return json.dumps([self.title, self.size, self.characters]).encode() + b"\n" + self.content

    @classmethod
    def from_bytes(cls, data: bytes) -> Sheet:
        head, _, content = data.partition(b"\n")
        title, (width, height), characters = json.loads(head)
        return cls(title, (width, height), characters, content)


class Canvas:
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
        align: Literal["left", "center", "right"] = "left",
        color: str = "#000000",
        upward: bool = False,
    ) -> None:
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
        """Draw lines through points: (lines, points, 2)."""
        values = np.asarray(points, np.float64)
        if not values.size:
            return
        some = "%.2f %.2f m" + " %.2f %.2f l" * (values.shape[1] - 1) + "\n"
        drawn = (some * len(values)) % tuple(values.ravel().tolist())
        how = " ".join(f"{each:g}" for each in dashes)
        self._parts.append(f"q {_rgb(color)} RG {width:g} w [{how}] 0 d\n{drawn}S Q\n")

    def dots(self, x: ArrayLike, y: ArrayLike, color: str, width: float = 2.6, opacity: int = 6) -> None:
        """Draw round dots; x, y: (dots,)."""
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
        """Fill an area with corners of shape (points, 2)."""
        values = np.asarray(points, np.float64)
        drawn = ("%.2f %.2f m" + " %.2f %.2f l" * (len(values) - 1)) % tuple(values.ravel().tolist())
        self._parts.append(f"q /A{opacity} gs {_rgb(color)} rg {drawn} f Q\n")

    @contextmanager
    def clipped(self, x: float, y: float, width: float, height: float) -> Iterator[None]:
        self._parts.append(f"q {x:.2f} {y:.2f} {width:.2f} {height:.2f} re W n\n")
        yield
        self._parts.append("Q\n")

    def sheet(self, title: str) -> Sheet:
        content = zlib.compress("".join(self._parts).encode("ascii"), COMPRESSION)
        return Sheet(one_line(title), self._size, "".join(sorted(self._characters)), content)


def document(sheets: Sequence[Sheet], title: str) -> bytes:
    count = len(sheets)
    first, marks = 4, 4 + 2 * count  # after catalog, tree and outline; each page is followed by its content
    fonts = marks + count
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(count))
    resources = f"<< /Font << /F {fonts} 0 R >> /ExtGState << {OPACITIES} >> >>"
    objects: list[str | bytes] = [
        "<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R /PageMode /UseOutlines >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] /Resources {resources} >>",
        f"<< /Type /Outlines /Count {count} /First {marks} 0 R /Last {marks + count - 1} 0 R >>",
    ]
    for i, sheet in enumerate(sheets):
        box = "/MediaBox [0 0 {:g} {:g}]".format(*sheet.size)
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} /Contents {first + 2 * i + 1} 0 R >>")
        objects.append(_stream("/Filter /FlateDecode", sheet.content))
    for i, sheet in enumerate(sheets):
        beside = f" /Prev {marks + i - 1} 0 R" if i else ""
        beside += f" /Next {marks + i + 1} 0 R" if i < count - 1 else ""
        place = f"/Dest [{first + 2 * i} 0 R /Fit]"
        objects.append(f"<< /Title {_string(sheet.title)} /Parent 3 0 R {place}{beside} >>")
    objects += font().objects("".join(sheet.characters for sheet in sheets), fonts)
    objects.append(f"<< /Title {_string(one_line(title))} >>")

    file, places = io.BytesIO(), []
    file.write(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
    for number, body in enumerate(objects, 1):
        places.append(file.tell())
        data = body.encode("ascii") if isinstance(body, str) else body
        file.write(b"%d 0 obj\n%s\nendobj\n" % (number, data))
    table, size = file.tell(), len(objects) + 1
    file.write(b"xref\n0 %d\n0000000000 65535 f \n" % size)
    file.writelines(b"%010d 00000 n \n" % place for place in places)
    file.write(b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (size, size - 1))
    file.write(b"startxref\n%d\n%%%%EOF\n" % table)
    return file.getvalue()


def _stream(head: str, data: bytes) -> bytes:
    return b"<< %s /Length %d >>\nstream\n%s\nendstream" % (head.encode("ascii"), len(data), data)


@lru_cache(maxsize=64)
def _rgb(color: str) -> str:
    return " ".join(f"{int(color[i : i + 2], 16) / 255:.3g}" for i in (1, 3, 5))


def _string(text: str) -> str:
    return f"<{(chr(0xFEFF) + text).encode('utf-16-be').hex()}>"
