"""Font metrics and font subset of PDF pages."""

from __future__ import annotations

import importlib.util
import io
import zlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from shortloop.base.extras import REPORT_LIBRARIES, need
from shortloop.base.text import one_line

__all__ = ["COMPRESSION", "Font", "fitting", "font", "width_of"]

COMPRESSION = 1  # the best one takes seven times as long for a tenth less
FONT = "mpl-data/fonts/ttf/DejaVuSans.ttf"


class Font:
    """DejaVu Sans as it comes with matplotlib: the same letters on every machine."""

    def __init__(self) -> None:
        need("report", REPORT_LIBRARIES)
        from fontTools.ttLib import TTFont

        spec = importlib.util.find_spec("matplotlib")  # which takes long to import
        assert spec is not None
        assert spec.submodule_search_locations is not None
        self._file = Path(spec.submodule_search_locations[0]) / FONT
        read: Any = TTFont(self._file, lazy=True)
        metrics, glyphs = read["hmtx"].metrics, read.getReverseGlyphMap()
        self.unit: int = read["head"].unitsPerEm
        self.cmap = {code: (glyphs[name], metrics[name][0]) for code, name in read.getBestCmap().items()}
        self.missing = 0, metrics[".notdef"][0]
        self._lines = read["hhea"].ascent, read["hhea"].descent

    def objects(self, characters: str, number: int) -> list[tuple[str, bytes | None]]:
        """The font, cut down to some characters, as objects of a PDF."""
        codes = sorted(ord(each) for each in set(characters) if ord(each) in self.cmap)
        widths = dict([self.missing, *map(self.cmap.__getitem__, codes)])
        scale = 1000.0 / self.unit
        listed = " ".join(f"{glyph} [{scale * width:.0f}]" for glyph, width in sorted(widths.items()))
        ascent, descent = (round(scale * each) for each in self._lines)
        name = "/BaseFont /SHRTLP+DejaVuSans"
        data = self._cut(codes)
        return [
            (
                f"<< /Type /Font /Subtype /Type0 {name} /Encoding /Identity-H "
                f"/DescendantFonts [{number + 1} 0 R] /ToUnicode {number + 4} 0 R >>",
                None,
            ),
            (
                f"<< /Type /Font /Subtype /CIDFontType2 {name} /CIDToGIDMap /Identity "
                "/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> "
                f"/FontDescriptor {number + 2} 0 R /W [{listed}] >>",
                None,
            ),
            (
                "<< /Type /FontDescriptor /FontName /SHRTLP+DejaVuSans /Flags 4 /ItalicAngle 0 /StemV 80 "
                f"/FontBBox [-1021 -463 1793 1232] /Ascent {ascent} /Descent {descent} /CapHeight 729 "
                f"/FontFile2 {number + 3} 0 R >>",
                None,
            ),
            (f"/Filter /FlateDecode /Length1 {len(data)}", zlib.compress(data, COMPRESSION)),
            ("", self._unicode(codes)),
        ]

    def _cut(self, codes: Sequence[int]) -> bytes:
        """The outlines of some characters, each under its number in the whole font."""
        from fontTools import subset

        options = subset.Options(
            retain_gids=True, hinting=False, notdef_outline=True, layout_features=[], glyph_names=False
        )
        options.drop_tables += ["FFTM", "GDEF", "GPOS", "GSUB", "MATH", "OS/2", "kern", "name", "post"]
        options.recalc_timestamp = False
        small = subset.load_font(self._file, options)
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=codes)
        cutter.subset(small)
        found = io.BytesIO()
        small.save(found, reorderTables=None)
        return found.getvalue()

    def _unicode(self, codes: Sequence[int]) -> bytes:
        """Which character each glyph is, so that text can be searched and copied."""
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
    """The font, which is read once."""
    return Font()


def width_of(text: str, size: float) -> float:
    """How long a line of text is."""
    letters = font()
    units: int = sum(letters.cmap.get(ord(each), letters.missing)[1] for each in text)
    return size * units / letters.unit


def fitting(text: str, size: float, length: float) -> str:
    """As much of a line as there is room for."""
    text = one_line(text)
    if width_of(text, size) <= length:
        return text
    while text and width_of(f"{text}…", size) > length:
        text = text[:-1]
    return f"{text.rstrip()}…"
