"""PDF files read by their own table of objects, as far as those of reports go."""

from __future__ import annotations

import re
import zlib


class PdfFile:
    """A PDF file.

    data: its content.
    """

    def __init__(self, data: bytes) -> None:
        start = re.search(rb"startxref\n(\d+)\n%%EOF\n\Z", data)
        assert start, "the end is missing"
        table = data[int(start[1]) :]
        head = re.match(rb"xref\n0 (\d+)\n0000000000 65535 f \n", table)
        assert head, "no table where it should be"
        rows = table[head.end() :].split(b"trailer")[0]
        assert len(rows) == 20 * (int(head[1]) - 1), "rows of the table have 20 bytes"
        places = [int(row[:10]) for row in rows.splitlines()]
        self.objects = {}
        for number, (place, end) in enumerate(zip(places, [*places[1:], int(start[1])], strict=True), 1):
            found = re.fullmatch(rb"%d 0 obj\n(.*)\nendobj\n" % number, data[place:end], re.S)
            assert found, f"object {number} is not where the table says"
            self.objects[number] = found[1]
        trailer = table.split(b"trailer")[1]
        self.root = self.objects[_number(trailer, b"Root")]
        self.title = _text(self.objects[_number(trailer, b"Info")], b"Title")
        tree = self.objects[_number(self.root, b"Pages")]
        kids = re.search(rb"/Kids \[([^\]]*)\]", tree)
        assert kids
        self._kids = [int(each) for each in re.findall(rb"(\d+) 0 R", kids[1])]
        assert int(re.search(rb"/Count (\d+)", tree)[1]) == len(self._kids)  # type: ignore[index]
        self.font = self.objects[_number(tree, b"F")]

    def stream(self, number: int) -> bytes:
        """What an object holds, whole and no longer than it says."""
        head, _, rest = self.objects[number].partition(b"\nstream\n")
        content, _, end = rest.rpartition(b"\nendstream")
        assert end == b""
        assert int(re.search(rb"/Length (\d+)", head)[1]) == len(content)  # type: ignore[index]
        return zlib.decompress(content) if b"FlateDecode" in head else content

    @property
    def pages(self) -> list[str]:
        """What is drawn on each."""
        contents = [_number(self.objects[kid], b"Contents") for kid in self._kids]
        return [self.stream(each).decode("ascii") for each in contents]

    def texts(self, page: int) -> list[str]:
        """Lines on a page, as a reader copies them."""
        letters = self.letters()
        lines = re.findall(r"<([0-9A-F]*)> Tj", self.pages[page])
        return ["".join(letters.get(line[i : i + 4], "?") for i in range(0, len(line), 4)) for line in lines]

    def letters(self) -> dict[str, str]:
        """The character of each glyph."""
        pairs = re.findall(
            r"^<(\w{4})> <(\w+)>$", self.stream(_number(self.font, b"ToUnicode")).decode(), re.M
        )
        return {glyph: bytes.fromhex(text).decode("utf-16-be") for glyph, text in pairs}

    def font_file(self) -> bytes:
        """The font that is in it."""
        below = self.objects[int(re.search(rb"/DescendantFonts \[(\d+)", self.font)[1])]  # type: ignore[index]
        return self.stream(_number(self.objects[_number(below, b"FontDescriptor")], b"FontFile2"))

    @property
    def bookmarks(self) -> list[tuple[str, int]]:
        """Title and page of each, followed from one to the next."""
        outline = self.objects[_number(self.root, b"Outlines")]
        number, before, found = _number(outline, b"First"), None, []
        while True:
            mark = self.objects[number]
            assert (b"/Prev" in mark) == (before is not None)
            assert before is None or _number(mark, b"Prev") == before
            page = int(re.search(rb"/Dest \[(\d+) 0 R", mark)[1])  # type: ignore[index]
            found.append((_text(mark, b"Title"), self._kids.index(page)))
            if b"/Next" not in mark:
                assert number == _number(outline, b"Last")
                return found
            before, number = number, _number(mark, b"Next")


def _number(data: bytes, name: bytes) -> int:
    found = re.search(rb"/%s (\d+) 0 R" % name, data)
    assert found, f"no {name.decode()}"
    return int(found[1])


def _text(data: bytes, name: bytes) -> str:
    found = re.search(rb"/%s <([0-9a-f]*)>" % name, data)
    assert found
    return bytes.fromhex(found[1].decode()).decode("utf-16")
