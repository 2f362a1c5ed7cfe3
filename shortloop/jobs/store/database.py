"""A small SQLite file that can be made again: several processes and threads may use it, and one that is
damaged or of another layout is replaced by a new one."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from shortloop.jobs.store.index_file import BROKEN, FAILURES, MEMORY, connect, may_write

__all__ = ["Database", "Values"]

Values = tuple[str | int | float | None, ...]
"""What the question marks of a statement stand for."""


class Database:
    """Tables in a file, or in memory if that may not be written.

    Parameters
    ----------
    file : Path
        The file; made if needed.
    layout : str
        Script that makes the tables, in one transaction.
    probes : sequence of str
        Statements that work if that is the layout of a file.
    fill : callable
        Gives statements, and the rows that each writes into a new file.
    """

    def __init__(
        self,
        file: Path,
        layout: str,
        probes: Sequence[str],
        fill: Callable[[], Iterable[tuple[str, Iterable[Values]]]],
    ) -> None:
        self._lock = threading.RLock()
        self.kept = True  # else all that is noted is forgotten at the end
        self._file = file
        self._layout = layout
        self._probes = probes
        self._fill = fill
        try:
            self._open()
            if self._connection.execute("pragma quick_check(1)").fetchone() != ("ok",):
                self._make_again()
        except FAILURES as error:
            self._mend(error)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def read(self, statement: str, *values: str | None) -> list[tuple[Any, ...]]:
        """Rows that a statement selects.

        Parameters
        ----------
        statement : str
            The statement.
        *values : str or None
            What its question marks stand for.

        Returns
        -------
        list of tuple
        """
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except FAILURES as error:
                self._mend(error)
                return self._connection.execute(statement, values).fetchall()

    def write(self, statement: str, rows: Iterable[Values]) -> None:
        """Execute a statement for each of some rows, all or none.

        Parameters
        ----------
        statement : str
            The statement.
        rows : iterable of tuple
            What its question marks stand for.
        """
        rows = list(rows)
        with self._lock:
            try:
                with self._connection:
                    self._connection.executemany(statement, rows)
            except FAILURES as error:
                self._mend(error)
                with self._connection:
                    self._connection.executemany(statement, rows)

    def _open(self) -> None:
        if may_write(self._file):
            with contextlib.suppress(OSError):  # SQLite's own files are never their group's to write
                self._file.touch(exist_ok=False)
        self._connection, self.kept = connect(self._file)
        self._connection.execute("pragma synchronous = off")
        if not self._connection.execute("select 1 from sqlite_master").fetchone():
            with self._connection:  # all or nothing, as others may open it meanwhile
                self._connection.executescript(self._layout)
                for statement, rows in self._fill():
                    self._connection.executemany(statement, rows)
        for probe in self._probes:
            self._connection.execute(probe)

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
