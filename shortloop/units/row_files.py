"""Append-only files of unit results, from which complete entries can be recovered."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

from blake3 import blake3

from shortloop.stages.content import SIZE

__all__ = ["RowFiles"]

HEAD = struct.Struct("<qq16s")  # unit, length, and a hash of these and of the bytes


class RowFiles:
    """Files with a row for each unit, one file for each process.

    The number of a unit holds for the process that opened the stage and made this, and for its forks. Others
    know a row by its first bytes, the unit's key.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mine = f"rows.{os.urandom(8).hex()}"
        self._process = 0
        self._file = -1

    def keep(self, rows: Mapping[int, bytes]) -> None:
        """Keep what units gave, in one write."""
        if self._process != os.getpid():  # a fork has a file of its own
            self._process = os.getpid()
            name = f"{self._mine}.{self._process}.{os.urandom(8).hex()}"
            self._file = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        parts = (
            part
            for unit, row in rows.items()
            for part in (HEAD.pack(unit, len(row), _hash(unit, len(row), row)), row)
        )
        data = memoryview(b"".join(parts))
        while data:
            data = data[os.write(self._file, data) :]

    def read(self) -> dict[int, bytes]:
        """What this process and its forks have kept."""
        return dict(pair for file in self._files() if self._is_mine(file) for pair in _rows_of(file))

    def read_others(self) -> dict[bytes, bytes]:
        """What was kept before, by processes that may have had other numbers for the units."""
        others = (file for file in self._files() if not self._is_mine(file))
        return {row[:SIZE]: row for file in others for _, row in _rows_of(file)}

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("rows.*"))

    def _is_mine(self, file: Path) -> bool:
        return file.name.startswith(f"{self._mine}.")


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
    return blake3(struct.pack("<qq", unit, length) + row).digest(16)
