"""An index of finished jobs by key. The truth is in their folders; this only saves looking through them,
and is made again when it is deleted or damaged."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.jobs.index_file import BROKEN, FAILURES, MEMORY, connect
from shortloop.jobs.seal import Seal

__all__ = ["Index", "Row"]

LAYOUT = """
begin immediate;
create table if not exists jobs (
    job text primary key, key text, base text, content text,
    method text, participant text, pipeline text, seconds real, rejected integer, states text
);
create index if not exists by_key on jobs (key);
create index if not exists by_base on jobs (base);
create index if not exists by_method on jobs (method);
create table if not exists slots (slot text primary key, job text);
"""
INSERT = """
insert into jobs values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (job) do update set
    key = excluded.key, base = excluded.base, content = excluded.content, method = excluded.method,
    participant = excluded.participant, pipeline = excluded.pipeline, seconds = excluded.seconds,
    rejected = excluded.rejected, states = excluded.states
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
    """The index in a file, or in memory if that may not be written; several processes and threads may use it.

    Parameters
    ----------
    file : Path
        The file; made if needed.
    seals : callable
        Gives the seals of all jobs, from which it is made.
    """

    def __init__(self, file: Path, seals: Callable[[], Iterable[Seal]]) -> None:
        self._lock = threading.RLock()
        self._file = file
        self._seals = seals
        self.kept = True  # else all that is noted is forgotten at the end
        try:
            self._open()
            if self._connection.execute("pragma quick_check(1)").fetchone() != ("ok",):
                self._make_again()
        except FAILURES as error:
            self._mend(error)

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
        self._write(INSERT, [_row(seal, states)])

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

    def slots(self) -> dict[str, str]:
        """The job in every place of every pipeline; of one that ran to its end, also its name, without a job.

        Returns
        -------
        dict of str to str
            Job id by place.
        """
        return {str(slot): str(job) for slot, job in self._read("select slot, job from slots")}

    def ended(self, pipeline: str, slots: Iterable[str]) -> None:
        """Note that a pipeline ran to its end, and drop places that it does not have any more.

        Parameters
        ----------
        pipeline : str
            Its name.
        slots : iterable of str
            All its places.
        """
        gone = {slot for slot in self.slots() if slot.startswith(f"{pipeline}|")}.difference(slots)
        self._write("delete from slots where slot = ?", [(slot,) for slot in gone])
        self.put_in_slots({pipeline: ""})

    def sizes(self) -> dict[str, tuple[str, int]]:
        """What every job was made for, and what it takes.

        Returns
        -------
        dict of str to (str, int)
            Pipeline and bytes by job id; 0 bytes where they are not known.
        """
        select = "select job, pipeline, states from jobs"
        return {
            str(job): (str(pipeline), sum(state[3] for state in _loaded(states)))
            for job, pipeline, states in self._read(select)
        }

    def of_method(self, method: str, participant: str | None) -> list[str]:
        """Jobs of a method, the newest first.

        Parameters
        ----------
        method : str
            With its package.
        participant : str or None
            Whose data; None: everybody's.

        Returns
        -------
        list of str
            Job ids.
        """
        select = "select job from jobs where method = ? and participant is ? order by rowid desc"
        return [str(job) for (job,) in self._read(select, method, participant)]

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
            Row(job, key, content, seconds, bool(rejected), _loaded(states))
            for job, key, content, seconds, rejected, states in self._read(select, value)
        ]

    def _read(self, statement: str, *values: str | None) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except FAILURES as error:
                self._mend(error)
                return self._connection.execute(statement, values).fetchall()

    def _write(self, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
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
        self._connection, self.kept = connect(self._file)
        self._connection.execute("pragma synchronous = off")
        if not self._connection.execute("select 1 from sqlite_master where name = 'slots'").fetchone():
            with self._connection:  # all or nothing, as others may open it meanwhile
                self._connection.executescript(LAYOUT)
                self._connection.executemany(INSERT, [_row(seal, []) for seal in self._seals()])
        self._connection.execute("select job, key, base, content, pipeline, states from jobs limit 1")

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


def _row(seal: Seal, states: list[list[Any]]) -> tuple[Any, ...]:
    seconds = float(seal.cost.get("seconds", 0))
    what = (seal.parts.method, seal.participant, seal.pipeline)
    return (seal.job, seal.key, seal.base, seal.content, *what, seconds, seal.rejected, json.dumps(states))


def _loaded(states: str) -> list[list[Any]]:
    try:
        loaded: list[list[Any]] = json.loads(states)
    except ValueError:  # then its files are read again
        return []
    return loaded
