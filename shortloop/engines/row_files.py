"""Bytes that units give, in files that processes append to: what was written whole is found again."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

__all__ = ["RowFiles"]

HEAD = struct.Struct("<qq16s")  # unit, length, and a hash of these and of the bytes


class RowFiles:
    """Files with a row for each unit, one file for each process.

    Parameters
    ----------
    folder : Path
        Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process = 0
        self._file = -1

    def keep(self, unit: int, row: bytes) -> None:
        """Keep what a unit gave.

        Parameters
        ----------
        unit : int
            Its number.
        row : bytes
            What it gave.

        Raises
        ------
        OSError
            If there is no room for it.
        """
        if self._process != os.getpid():  # a fork has a file of its own
            self._process = os.getpid()
            name = f"rows.{self._process}.{os.urandom(8).hex()}"
            self._file = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        data = memoryview(HEAD.pack(unit, len(row), _hash(unit, len(row), row)) + row)
        while data:
            data = data[os.write(self._file, data) :]

    def read(self) -> dict[int, bytes]:
        """All that was kept.

        Returns
        -------
        dict of int to bytes
            By the number of the unit.
        """
        return dict(pair for file in sorted(self._folder.glob("rows.*")) for pair in _rows_of(file))


def _rows_of(file: Path) -> Iterator[tuple[int, bytes]]:
    data, at = file.read_bytes(), 0
    while at + HEAD.size <= len(data):
        unit, length, known = HEAD.unpack_from(data, at)
        row = data[at + HEAD.size : at + HEAD.size + length]
        if length < 0 or _hash(unit, length, row) != known:
            return  # cut off while it was written; nothing comes after
        yield unit, row
        at += HEAD.size + length


def _hash(unit: int, length: int, row: bytes) -> bytes:
    return hashlib.blake2b(struct.pack("<qq", unit, length) + row, digest_size=16).digest()
