"""Places of arrays in an uncompressed MAT file of level 5, from its tags, to map them without a copy."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shortloop.base.types import Span

HEADER_BYTES = 128
VERSION = b"\x00\x01IM"  # level 5, little-endian
ELEMENT = struct.Struct("<2I")
MATRIX = struct.Struct("<10I")  # of two dimensions: its tag, flags and dimensions, before its name

INT8, UINT8, UINT16, INT32, UINT32, DOUBLE, MATRIX_TYPE, UTF8 = 1, 2, 4, 5, 6, 9, 14, 16  # types of data
NUMBERS = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8"}
CELL_CLASS, STRUCT_CLASS, CHAR_CLASS, DOUBLE_CLASS = 1, 2, 4, 6  # classes of matrices


class NotMappable(Exception):
    """The file has another layout and must be read in the ordinary way."""


@dataclass(frozen=True)
class _Matrix:
    """Name, class and dimensions of a matrix, and the bytes of its content after its name."""

    name: bytes
    kind: int
    rows: int
    columns: int
    start: int
    stop: int


@dataclass(frozen=True)
class Struct:
    """A 1 × 1 struct in an open file; methods raise `NotMappable` if a field holds anything else."""

    content: mmap.mmap
    fields: dict[str, tuple[int, int]]  # start and stop of each field's matrix

    def texts(self, field: str) -> list[str]:
        """Return the strings of a cell array: ASCII, none empty."""
        return [self._text(matrix) for matrix in self._cells(field)]

    def numbers(self, field: str) -> list[float]:
        """Return a vector of real doubles, of any stored type."""
        matrix = _matrix(self.content, *self.fields[field])
        stored, start, size, stop = _element(self.content, matrix.start, matrix.stop)
        _expect(matrix.kind == DOUBLE_CLASS and 1 in (matrix.rows, matrix.columns))
        _expect(stored in NUMBERS and stop == matrix.stop)
        dtype = np.dtype(NUMBERS[stored])
        _expect(size == matrix.rows * matrix.columns * dtype.itemsize)
        values: list[float] = np.frombuffer(self.content[start : start + size], dtype).astype(float).tolist()
        return values

    def span(self, field: str) -> Span:
        """Return the place of a cell array's matrices: real doubles of one size, stored as doubles."""
        cells = list(self._cells(field))
        _expect(len(cells) > 0)
        first = cells[0]
        size = 8 * first.rows * first.columns
        step = first.stop - first.start + MATRIX.size + ELEMENT.size  # its name is empty
        for number, cell in enumerate(cells):
            _expect((cell.kind, cell.rows, cell.columns) == (DOUBLE_CLASS, first.rows, first.columns))
            _expect(cell.start == first.start + number * step)
            _expect(ELEMENT.unpack_from(self.content, cell.start) == (DOUBLE, size) and size > 0)
            _expect(cell.start + ELEMENT.size + size == cell.stop)
        offset = first.start + ELEMENT.size
        shape = (len(cells), first.rows, first.columns)
        return Span(offset=offset, shape=shape, strides=(step, 8, 8 * first.rows), dtype="<f8")

    def _cells(self, field: str) -> Iterator[_Matrix]:
        vector = _matrix(self.content, *self.fields[field])
        _expect(vector.kind == CELL_CLASS and 1 in (vector.rows, vector.columns))
        at = vector.start
        for _ in range(vector.rows * vector.columns):
            cell = _matrix(self.content, at, vector.stop)
            yield cell
            at = cell.stop
        _expect(at == vector.stop)

    def _text(self, matrix: _Matrix) -> str:
        stored, start, size, stop = _element(self.content, matrix.start, matrix.stop)
        width = {INT8: 1, UINT8: 1, UTF8: 1, UINT16: 2}.get(stored, 0)
        _expect(matrix.kind == CHAR_CLASS and matrix.rows == 1 and stop == matrix.stop)
        _expect(size > 0 and size == matrix.columns * width)
        text = self.content[start : start + size].decode("ascii" if width == 1 else "utf-16-le")
        _expect(text.isascii() and "\0" not in text)
        return text


@contextmanager
def open_struct(file: Path, name: str) -> Iterator[Struct]:
    with file.open("rb") as stream:
        try:
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield Struct(content, _fields(content, _variable(content, name.encode())))
        except (ValueError, struct.error) as error:  # of an empty file, beyond the end, of no ASCII
            raise NotMappable from error


def _variable(content: mmap.mmap, name: bytes) -> _Matrix:
    """Find the struct among the variables of a file, which must fill it to its end."""
    head = content[:HEADER_BYTES]
    _expect(head[-len(VERSION) :] == VERSION and 0 not in head[:4])  # zeros there are of level 4
    found = []
    at = HEADER_BYTES
    while at < len(content):
        matrix = _matrix(content, at, len(content))
        found += [matrix] * (matrix.name == name)
        at = matrix.stop
    _expect(len(found) == 1 and (found[0].kind, found[0].rows, found[0].columns) == (STRUCT_CLASS, 1, 1))
    return found[0]


def _fields(content: mmap.mmap, matrix: _Matrix) -> dict[str, tuple[int, int]]:
    stored, start, size, at = _element(content, matrix.start, matrix.stop)
    _expect((stored, size) == (INT32, 4))
    width = int.from_bytes(content[start : start + size], "little")
    stored, start, size, at = _element(content, at, matrix.stop)
    _expect(stored == INT8 and width > 0 and size % width == 0)
    names = [content[here : here + width].split(b"\0")[0] for here in range(start, start + size, width)]
    fields = {}
    for name in names:
        end = _stop(content, at, matrix.stop)
        fields[name.decode("ascii")] = (at, end)
        at = end
    _expect(at == matrix.stop and len(fields) == len(names))
    return fields


def _matrix(content: mmap.mmap, at: int, end: int) -> _Matrix:
    """Read the matrix at `at`, which must stop before `end`."""
    stop = _stop(content, at, end)
    tags = MATRIX.unpack_from(content, at)
    stored, start, size, begin = _element(content, at + MATRIX.size, stop)
    _expect(tags[2:4] == (UINT32, 8) and tags[6:8] == (INT32, 8) and stored == INT8)
    # Flags beside the class would say that it is complex, logical or global.
    return _Matrix(content[start : start + size], tags[4], tags[8], tags[9], begin, stop)


def _stop(content: mmap.mmap, at: int, end: int) -> int:
    """Return where the matrix at `at` stops, at most `end`."""
    stored, size = ELEMENT.unpack_from(content, at)
    stop = at + ELEMENT.size + int(size)
    _expect(stored == MATRIX_TYPE and size % 8 == 0 and stop <= end)
    return stop


def _element(content: mmap.mmap, at: int, end: int) -> tuple[int, int, int, int]:
    """Return type, first byte and size of a data element, and the start of the next."""
    stored, size = ELEMENT.unpack_from(content, at)
    start, stop = at + 8, at + 8 + size + -size % 8
    if stored >> 16:  # up to four bytes are packed into the tag
        stored, size = stored & 0xFFFF, stored >> 16
        start, stop = at + 4, at + 8
        _expect(size <= 4)
    _expect(stop <= end)
    return stored, start, size, stop


def _expect(holds: bool) -> None:
    if not holds:
        raise NotMappable
