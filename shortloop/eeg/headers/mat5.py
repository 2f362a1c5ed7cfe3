"""Places of arrays in an uncompressed MAT file of level 5, from its tags, to map them without a copy."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shortloop.base.types import Span

HEADER_BYTES = 128
VERSION = b"\x00\x01IM"  # level 5, little-endian
PAIR = struct.Struct("<2I")

INT8, UINT8, UINT16, INT32, UINT32, DOUBLE, MATRIX, UTF8 = 1, 2, 4, 5, 6, 9, 14, 16  # types of elements
NUMBERS = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8"}
CELL_CLASS, STRUCT_CLASS, CHAR_CLASS, DOUBLE_CLASS = 1, 2, 4, 6  # classes of matrices


class NotMappable(Exception):
    """The file has another layout and must be read in the ordinary way."""


class _Element(NamedTuple):
    """Type of a data element, and its bytes without tag and padding."""

    stored: int
    start: int
    stop: int


class _Matrix(NamedTuple):
    """Class, dimensions and name of a matrix, and the elements after its name."""

    kind: int
    rows: int
    columns: int
    name: bytes
    inside: list[_Element]


@dataclass(frozen=True)
class Struct:
    """A 1 × 1 struct in an open file; methods raise `NotMappable` if a field holds anything else."""

    content: mmap.mmap
    fields: dict[str, _Element]

    def texts(self, field: str) -> list[str]:
        """Return the strings of a cell array: ASCII, none empty."""
        return [self._text(_matrix(self.content, cell)) for cell in self._cells(field)]

    def numbers(self, field: str) -> list[float]:
        """Return a vector of real doubles, of any stored type."""
        kind, rows, columns, _, (data,) = _matrix(self.content, self.fields[field])
        _expect(kind == DOUBLE_CLASS and 1 in (rows, columns) and data.stored in NUMBERS)
        values = np.frombuffer(self.content[data.start : data.stop], NUMBERS[data.stored])
        _expect(len(values) == rows * columns)
        numbers: list[float] = values.astype(float).tolist()
        return numbers

    def span(self, field: str) -> Span:
        """Return the place of a cell array's matrices: real doubles of one size, stored as doubles."""
        cells = self._cells(field)
        _expect(len(cells) > 0)
        matrices = [_matrix(self.content, cell) for cell in cells]
        _, rows, columns, _, (first,) = matrices[0]
        step = cells[0].stop - cells[0].start + PAIR.size
        for number, (kind, *size, _, (data,)) in enumerate(matrices):
            _expect((kind, size, data.stored) == (DOUBLE_CLASS, [rows, columns], DOUBLE))
            _expect(data.start == first.start + number * step)
            _expect(data.stop - data.start == 8 * rows * columns > 0)
        shape = (len(cells), rows, columns)
        return Span(offset=first.start, shape=shape, strides=(step, 8, 8 * rows), dtype="<f8")

    def _cells(self, field: str) -> list[_Element]:
        kind, rows, columns, _, cells = _matrix(self.content, self.fields[field])
        _expect(kind == CELL_CLASS and 1 in (rows, columns) and len(cells) == rows * columns)
        return cells

    def _text(self, matrix: _Matrix) -> str:
        kind, rows, columns, _, (data,) = matrix
        width = {INT8: 1, UINT8: 1, UTF8: 1, UINT16: 2}.get(data.stored, 0)
        _expect(kind == CHAR_CLASS and rows == 1 and data.stop - data.start == columns * width > 0)
        text = self.content[data.start : data.stop].decode("ascii" if width == 1 else "utf-16-le")
        _expect(text.isascii() and "\0" not in text)
        return text


@contextmanager
def open_struct(file: Path, name: str) -> Iterator[Struct]:
    with file.open("rb") as stream:
        try:
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield Struct(content, _fields(content, _variable(content, name.encode())))
        # Of an empty file, beyond the end, of no ASCII, of another number of elements.
        except (ValueError, struct.error) as error:
            raise NotMappable from error


def _variable(content: mmap.mmap, name: bytes) -> _Matrix:
    """Find the struct among the variables of a file, which must fill it to its end."""
    head = content[:HEADER_BYTES]
    _expect(head[-len(VERSION) :] == VERSION and 0 not in head[:4])  # zeros there are of level 4
    variables = [_matrix(content, each) for each in _elements(content, HEADER_BYTES, len(content))]
    (found,) = (each for each in variables if each.name == name)
    _expect((found.kind, found.rows, found.columns) == (STRUCT_CLASS, 1, 1))
    return found


def _fields(content: mmap.mmap, matrix: _Matrix) -> dict[str, _Element]:
    length, names, *values = matrix.inside
    _expect((length.stored, length.stop - length.start, names.stored) == (INT32, 4, INT8))
    width = int.from_bytes(content[length.start : length.stop], "little")
    starts = range(names.start, names.stop, width)
    found = [content[start : start + width].split(b"\0")[0].decode("ascii") for start in starts]
    _expect(len({*found}) == len(found) and (names.stop - names.start) % width == 0)
    return dict(zip(found, values, strict=True))


def _matrix(content: mmap.mmap, element: _Element) -> _Matrix:
    """Read a matrix of two dimensions."""
    _expect(element.stored == MATRIX and (element.stop - element.start) % 8 == 0)
    flags, sizes, name, *inside = _elements(content, element.start, element.stop)
    _expect((flags.stored, sizes.stored, name.stored) == (UINT32, INT32, INT8))
    _expect(flags.stop - flags.start == sizes.stop - sizes.start == PAIR.size)
    # Flags beside the class would say that it is complex, logical or global.
    kind, _ = PAIR.unpack_from(content, flags.start)
    rows, columns = PAIR.unpack_from(content, sizes.start)
    return _Matrix(kind, rows, columns, content[name.start : name.stop], inside)


def _elements(content: mmap.mmap, at: int, end: int) -> Iterator[_Element]:
    """Yield the data elements, which must fill the bytes up to `end`."""
    while at < end:
        stored, size = PAIR.unpack_from(content, at)
        start, following = at + 8, at + 8 + size + -size % 8
        if stored >> 16:  # up to four bytes are packed into the tag
            stored, size = stored & 0xFFFF, stored >> 16
            start, following = at + 4, at + 8
            _expect(size <= 4)
        _expect(following <= end)
        yield _Element(stored, start, start + size)
        at = following


def _expect(holds: bool) -> None:
    if not holds:
        raise NotMappable
