"""An index of finished jobs by key. The truth is in their folders; this only saves looking through them,
and is made again when it is deleted or damaged."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.jobs.seal import Seal

__all__ = ["Index", "Row"]

LAYOUT = """
create table jobs (
    job text primary key, key text, base text, content text,
    method text, participant text, seconds real, rejected integer, states text
);
create index by_key on jobs (key);
create index by_base on jobs (base);
create index by_method on jobs (method);
create table slots (slot text primary key, job text);
"""
INSERT = """
insert into jobs values (?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (job) do update set
    key = excluded.key, base = excluded.base, content = excluded.content, method = excluded.method,
    participant = excluded.participant, seconds = excluded.seconds, rejected = excluded.rejected,
    states = excluded.states
"""
RECENT = """
select method, avg(seconds) from (
    select method, seconds, row_number() over (partition by method order by rowid desc) as age from jobs
) where age <= 40 group by method
"""


class Row(NamedTuple):
    """A job as the index knows it.

    Parameters
    ----------
    job, key, content : str
        As of `Seal`.
    seconds : float
        How long it took.
    rejected : bool
        Whether it rejected its input.
    states : list of list
        States of its files when they were last known to be right; see `states_of`.
    """

    job: str
    key: str
    content: str
    seconds: float
    rejected: bool
    states: list[list[Any]]


class Index:
    """The index in a file; several processes and threads may use it.

    Parameters
    ----------
    file : Path
        The file; made if needed.
    """

    def __init__(self, file: Path) -> None:
        self._lock = threading.Lock()
        self.fresh = False
        """Whether it was just made, and knows nothing."""
        try:
            self._connection = self._open(file)
        except sqlite3.DatabaseError:
            for part in file.parent.glob(f"{file.name}*"):
                part.unlink(missing_ok=True)
            self._connection = self._open(file)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def by_key(self, key: str) -> list[Row]:
        """Jobs with a key, the newest first.

        Parameters
        ----------
        key : str
            Their key.

        Returns
        -------
        list of Row
        """
        return self._rows("key = ?", key)

    def by_base(self, base: str) -> list[Row]:
        """Jobs with the same key but for one option, the newest first.

        Parameters
        ----------
        base : str
            The key without the option.

        Returns
        -------
        list of Row
        """
        return self._rows("base = ?", base)

    def insert(self, seal: Seal, states: list[list[Any]]) -> None:
        """Note a job; one that is known is replaced.

        Parameters
        ----------
        seal : Seal
            Its seal.
        states : list of list
            States of its files; empty if it is not known whether they are right.
        """
        seconds = float(seal.cost.get("seconds", 0))
        described = (seal.parts.method, seal.participant, seconds, seal.rejected, json.dumps(states))
        self._write(INSERT, [(seal.job, seal.key, seal.base, seal.content, *described)])

    def forget(self, job: str) -> None:
        """Drop a job.

        Parameters
        ----------
        job : str
            Job id.
        """
        self._write("delete from jobs where job = ?", [(job,)])

    def in_slot(self, slot: str) -> str:
        """The job that was last in a place of a pipeline.

        Parameters
        ----------
        slot : str
            The place.

        Returns
        -------
        str
            Empty if there was none.
        """
        found = self._read("select job from slots where slot = ?", slot)
        return str(found[0][0]) if found else ""

    def put_in_slots(self, jobs: dict[str, str]) -> None:
        """Note the job in each place of a pipeline.

        Parameters
        ----------
        jobs : dict of str to str
            Job id by place.
        """
        self._write("insert or replace into slots values (?, ?)", jobs.items())

    def seconds(self) -> dict[str, float]:
        """How long a job of each method takes, from the last ones.

        Returns
        -------
        dict of str to float
            Mean seconds by method, without its package.
        """
        return {str(method).rpartition(".")[2]: float(mean) for method, mean in self._read(RECENT)}

    def _rows(self, where: str, value: str) -> list[Row]:
        select = (
            f"select job, key, content, seconds, rejected, states from jobs where {where} order by rowid desc"
        )
        return [
            Row(job, key, content, seconds, bool(rejected), json.loads(states))
            for job, key, content, seconds, rejected, states in self._read(select, value)
        ]

    def _read(self, statement: str, *values: str) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def _write(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._lock, self._connection:
            self._connection.executemany(statement, rows)

    def _open(self, file: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(file, timeout=60, check_same_thread=False)
        try:
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = off")
            if not connection.execute("select 1 from sqlite_master where name = 'slots'").fetchone():
                connection.executescript(LAYOUT)
                self.fresh = True
            connection.execute("select job, key, base, content, states from jobs limit 1")
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection
