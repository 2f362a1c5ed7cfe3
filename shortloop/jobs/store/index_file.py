"""The file of the index: opened for writing, or, where that is not allowed, read into memory."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from shortloop.errors import InputError

__all__ = ["BROKEN", "FAILURES", "MEMORY", "connect", "may_write"]

BROKEN = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""Codes of another layout, a damaged file, a file of another kind."""
FAILURES = (sqlite3.DatabaseError, UnicodeDecodeError)
"""What reading an index may raise; the message of the second may quote what is broken."""
MEMORY = Path(":memory:")
"""In place of a file: an empty index that nobody keeps."""
PATIENCE = 60.0  # seconds to wait for another program that holds the file


def may_write(file: Path) -> bool:
    """Whether an index can be kept in a file.

    Parameters
    ----------
    file : Path

    Returns
    -------
    bool
        False in a project of another user, and on a disk that can only be read.
    """
    there = os.access(file, os.R_OK | os.W_OK) or not os.path.lexists(file)
    return there and os.access(file.parent, os.W_OK | os.X_OK)


def connect(file: Path) -> tuple[sqlite3.Connection, bool]:
    """Open an index.

    Parameters
    ----------
    file : Path
        Where it is kept.

    Returns
    -------
    connection : sqlite3.Connection
        To the file; to a copy in memory, if the file cannot be written: empty, if it cannot be read either.
    kept : bool
        Whether it is to the file.

    Raises
    ------
    InputError
        If it is a folder, or anything else that is no file.
    """
    if file.exists() and not file.is_file():
        raise InputError("the index of jobs is no file", file=file, hint="move it away: it is made again")
    if may_write(file):
        connection = sqlite3.connect(file, timeout=PATIENCE, check_same_thread=False)
        try:
            connection.execute("pragma journal_mode = wal")
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
        with contextlib.suppress(sqlite3.Error):
            return _copy(f"{file.as_uri()}?{way}"), False
    return sqlite3.connect(MEMORY, check_same_thread=False), False


def _copy(address: str) -> sqlite3.Connection:
    with contextlib.closing(sqlite3.connect(address, uri=True)) as disk:
        memory = sqlite3.connect(MEMORY, check_same_thread=False)
        disk.backup(memory)
        memory.execute("select count(*) from sqlite_master")
    return memory
