"""A file of unit data, of which each process reads only its units."""

from __future__ import annotations

import mmap
import os
import pickle
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.base.plain import Plain

__all__ = ["UnitFile", "Written", "can_be_written", "write_units"]

ALIGNED = 64  # bytes, as Arrow wants its memory
END = struct.Struct("<q")  # where the list of parts begins
SCALARS = (str, bytes, bool, int, float, type(None))


class Written(NamedTuple):
    """What a file says beside the data of the units."""

    names: list[Plain]
    costs: list[float]
    modules: list[str]  # imported as the units were found, in their order
    state: dict[str, str]
    parts: list[tuple[int, list[int]]]  # where each unit begins; bytes of its pickle and buffers


def can_be_written(value: object) -> bool:
    """True if data come back from a pickle with the same values in the same order in memory.

    Sums of floats hang on where their parts lie, so arrays that pickle would lay out anew are not written.
    """
    kind = type(value)
    if kind in SCALARS:
        return True
    if kind in (list, tuple):
        return all(map(can_be_written, value))  # type: ignore[call-overload]
    if kind is dict:
        return all(can_be_written(each) for pair in value.items() for each in pair)  # type: ignore[attr-defined]
    given: Any = value
    numpy, pandas, polars = map(sys.modules.get, ("numpy", "pandas", "polars"))
    if numpy is not None and kind is numpy.ndarray:
        is_in_order = given.ndim < 2 or given.flags.c_contiguous or given.flags.f_contiguous
        return is_in_order and not given.dtype.hasobject
    if numpy is not None and isinstance(value, numpy.generic):
        return True
    if polars is not None and kind in (polars.DataFrame, polars.Series):
        frame = given if kind is polars.DataFrame else given.to_frame()
        return not any(each.n_chunks() > 1 or each.dtype == polars.Object for each in frame.iter_columns())
    if pandas is not None and kind in (pandas.DataFrame, pandas.Series):
        frame = given if kind is pandas.DataFrame else given.to_frame()
        return all(map(_is_in_one_piece, frame.dtypes, range(frame.shape[1]), [frame] * frame.shape[1]))
    return False


def _is_in_one_piece(kind: Any, place: int, frame: Any) -> bool:
    if not str(kind).endswith("[pyarrow]"):
        return not hasattr(kind, "subtype") and not str(kind).startswith("Sparse")
    return bool(frame.iloc[:, place].array.__arrow_array__().num_chunks <= 1)


def write_units(file: Path, reads: Sequence[object], about: Written) -> None:
    """Write what units read."""
    parts = []
    with file.open("wb") as stream:
        for each in reads:
            buffers: list[pickle.PickleBuffer] = []
            pickled = pickle.dumps(each, protocol=5, buffer_callback=buffers.append)
            pieces = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
            parts.append((stream.tell(), [len(piece) for piece in pieces]))
            for piece in pieces:
                stream.write(piece)
                stream.write(bytes(-len(piece) % ALIGNED))
        begin = stream.tell()
        stream.write(pickle.dumps(tuple(about._replace(parts=parts))))
        stream.write(END.pack(begin))


class UnitFile(Sequence[object]):
    """Inputs of units by number; read from disk on each access, and only the last is kept."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        end = os.fstat(self._file).st_size - END.size
        (begin,) = END.unpack(os.pread(self._file, END.size, end))
        self.about = Written(*pickle.loads(self._read(begin, end - begin)))
        self._last: tuple[int, object] = -1, None

    def __len__(self) -> int:
        return len(self.about.parts)

    def __getitem__(self, unit: int) -> Any:  # type: ignore[override]
        if self._last[0] != unit:
            self._last = -1, None  # before the next one is there as well
            begin, lengths = self.about.parts[unit]
            room = [length + -length % ALIGNED for length in lengths]
            data = self._read(begin, sum(room))
            pieces, at = [], 0
            for length, whole in zip(lengths, room, strict=True):
                pieces.append(data[at : at + length])
                at += whole
            self._last = unit, pickle.loads(pieces[0], buffers=pieces[1:])
        return self._last[1]

    def _read(self, begin: int, size: int) -> memoryview:
        held = mmap.mmap(-1, size)
        view, at = memoryview(held), 0
        while at < size:
            read = os.preadv(self._file, [view[at:]], begin + at)
            if not read:
                raise EOFError("a file with what units read is not whole")
            at += read
        return view.toreadonly()
