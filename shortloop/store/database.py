"""A small, recreatable SQLite file for several processes and threads.

A damaged file, or one with another layout, is replaced. If it cannot be written, it is read into memory.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from shortloop.base.errors import InputError

Values = tuple[str | int | float | None, ...]  # what the question marks of a statement stand for
BROKEN = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Codes of another layout, a damaged file, a file of another kind."""
FAILURES = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading an index may raise; the message of the second may quote what is broken."""
CHECKS = ("quick_check(1)", "user_version")
MEMORY = Path(":memory:")  # in place of a file: an empty index that nobody keeps
T = TypeVar("T")
NETWORK = {  # file systems that several machines may have
    *(b"9p", b"afs", b"beegfs", b"ceph", b"cifs", b"fuse.glusterfs", b"fuse.sshfs", b"gpfs", b"lustre"),
    *(b"nfs", b"nfs4", b"orangefs", b"smb3", b"smbfs", b"virtiofs"),
}
PATIENCE = 60.0  # seconds to wait for another program that holds the file


class Database:
    """Tables of the script `layout` in a file or in memory; `fill` gives the rows of a new file."""

    def __init__(
        self, file: Path, layout: str, fill: Callable[[], Iterable[tuple[str, Iterable[Values]]]]
    ) -> None:
        self._lock = threading.RLock()
        self.kept = True  # else all that is noted is forgotten at the end
        self._file, self._fill = file, fill
        version = zlib.crc32(layout.encode()) >> 1  # which SQLite keeps as a signed number
        self._layout = f"{layout}pragma user_version = {version};"
        try:
            self._open()
            found = [self._connection.execute(f"pragma {each}").fetchone() for each in CHECKS]
            if found != [("ok",), (version,)]:
                self._make_again()
        except FAILURES as error:
            self._mend(error)

    def close(self) -> None:
        self._connection.close()

    def read(self, statement: str, *values: str | None) -> list[tuple[Any, ...]]:
        return self._tried(lambda: self._connection.execute(statement, values).fetchall())

    def write(self, statement: str, rows: Iterable[Values]) -> None:
        """Execute a statement for each row, all or none."""
        rows = list(rows)

        def execute() -> None:
            with self._connection:
                self._connection.executemany(statement, rows)

        self._tried(execute)

    def _tried(self, execute: Callable[[], T]) -> T:
        with self._lock:
            try:
                return execute()
            except FAILURES as error:
                self._mend(error)
                return execute()

    def _open(self) -> None:
        if may_write(self._file):
            with suppress(OSError):  # SQLite's own files are never their group's to write
                self._file.touch(exist_ok=False)
        self._connection, self.kept = connect(self._file)
        self._connection.execute("pragma synchronous = off")
        if not self._connection.execute("select 1 from sqlite_master").fetchone():
            with self._connection:  # all or nothing, as others may open it meanwhile
                self._connection.executescript(self._layout)
                for statement, rows in self._fill():
                    self._connection.executemany(statement, rows)

    def _mend(self, error: Exception) -> None:
        # What cannot be decoded has no code of its own.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        if isinstance(error, sqlite3.ProgrammingError) or code & 0xFF not in BROKEN:
            raise error  # it may be in use, or the disk full
        self._make_again()

    def _make_again(self) -> None:
        self._connection.close()
        if self.kept:
            for part in self._file.parent.glob(f"{self._file.name}*"):
                part.unlink(missing_ok=True)
        else:
            self._file = MEMORY
        self._open()


def is_on_network(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """True if a folder is on a file system that other machines may share."""
    with suppress(OSError, ValueError):
        device = os.stat(folder).st_dev
        for line in mounts.read_bytes().splitlines():
            fields, _, kind = line.partition(b" - ")
            if os.makedev(*map(int, fields.split()[2].split(b":"))) == device:
                return kind.split()[0] in NETWORK
    return False


def may_write(file: Path) -> bool:
    """True if an index can be kept in a file."""
    there = os.access(file, os.R_OK | os.W_OK) or not os.path.lexists(file)
    return there and os.access(file.parent, os.W_OK | os.X_OK)


def connect(file: Path) -> tuple[sqlite3.Connection, bool]:
    """Connect to an index; False if it is a copy in memory."""
    if file.exists() and not file.is_file():
        raise InputError("the job index is not a file", file=file, hint="move it away; it will be recreated")
    if may_write(file):
        connection = sqlite3.connect(file, timeout=PATIENCE, check_same_thread=False)
        try:
            # A write-ahead log has a part in shared memory, which machines do not share.
            connection.execute(f"pragma journal_mode = {'delete' if is_on_network(file.parent) else 'wal'}")
            connection.execute("select count(*) from sqlite_master")
            return connection, True
        except FAILURES as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            if code in BROKEN:
                return connection, True  # who asked for it makes it again
            connection.close()
            if code not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
                raise
            # On a full disk, there is no room for the files beside it.
    # The second way is for a file that no program has open: it needs no files beside it, which say who has.
    for way in ("mode=ro", "mode=ro&immutable=1") if file != MEMORY else ():
        address, memory = f"{file.as_uri()}?{way}", sqlite3.connect(MEMORY, check_same_thread=False)
        with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True)) as disk:
            disk.backup(memory)
            memory.execute("select count(*) from sqlite_master")
            return memory, False
    return sqlite3.connect(MEMORY, check_same_thread=False), False
