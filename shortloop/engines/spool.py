"""What was computed of a job before it began, in a file, so that it outlives the run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

__all__ = ["Batch", "Spool", "clear_old"]

HEAD = struct.Struct("<QQ32s")  # sizes of both parts, and their SHA-256
FORGOTTEN = 7 * 86400.0  # s after which nobody asks for it any more


class Batch(NamedTuple):
    """What came of a batch.

    Parameters
    ----------
    units : list of bytes
        Its units.
    data : bytes
        As of `shortloop.engines.messages.Reply`.
    """

    units: list[bytes]
    data: bytes


class Spool:
    """Batches of one job, in the order in which they were computed.

    One thread adds to it, others read.

    Parameters
    ----------
    file : Path
        Where they are kept. What is damaged there, and what comes after it, is not used.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._places = [*_places(file)]
        self._stream: BinaryIO | None = None  # as soon as it is written: many may be told of

    def __len__(self) -> int:
        return len(self._places)

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return self._places[-1].end if self._places else 0

    def units(self) -> set[bytes]:
        """Units that are there.

        Returns
        -------
        set of bytes
        """
        return {unit for place in [*self._places] for unit in place.units}

    def add(self, units: Sequence[bytes], data: bytes) -> None:
        """Keep a batch.

        Parameters
        ----------
        units, data
            As of `Batch`.
        """
        if self._stream is None:
            self._stream = self._file.open("ab")
            self._stream.truncate(self.size)
        said = pickle.dumps([*units])
        start = self.size + HEAD.size + len(said)
        head = HEAD.pack(len(said), len(data), _hash(said, data))
        for part in (head, said, data):
            self._stream.write(part)
        self._stream.flush()
        self._places.append(_Place([*units], start, start + len(data)))

    def read(self, number: int) -> Batch:
        """A batch.

        Parameters
        ----------
        number : int
            From 0, below the length of this.

        Returns
        -------
        Batch
        """
        place = self._places[number]
        with self._file.open("rb") as stream:
            stream.seek(place.start)
            return Batch(place.units, stream.read(place.end - place.start))

    def close(self) -> None:
        """Delete it: nobody asks for it again."""
        if self._stream is not None:
            self._stream.close()
        self._file.unlink(missing_ok=True)


def clear_old(folder: Path, all_of_them: bool = False) -> None:
    """Delete spools that nobody will ask for.

    Parameters
    ----------
    folder : Path
        Where they are.
    all_of_them : bool, default False
        Whether to delete new ones, too.
    """
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            if all_of_them or file.stat().st_mtime < time.time() - FORGOTTEN:
                file.unlink()


class _Place(NamedTuple):
    """Where the data of a batch are."""

    units: list[bytes]
    start: int
    end: int


def _places(file: Path) -> Iterator[_Place]:
    """Those of whole batches."""
    with contextlib.suppress(FileNotFoundError), file.open("rb") as stream:
        whole = os.fstat(stream.fileno()).st_size
        while len(head := stream.read(HEAD.size)) == HEAD.size:
            *sizes, hashed = HEAD.unpack(head)
            if sum(sizes) > whole - stream.tell():  # damaged: there may not be memory for as much
                return
            said, data = (stream.read(size) for size in sizes)
            if _hash(said, data) != hashed:
                return
            end = stream.tell()
            yield _Place(pickle.loads(said), end - len(data), end)


def _hash(*parts: bytes) -> bytes:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.digest()
