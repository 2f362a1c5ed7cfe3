"""A job hands its units to the engine of its run, and keeps what they leave."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, Unpack, cast

from shortloop.engines.facts import Facts, check_alike, facts_here
from shortloop.engines.listing import list_needs
from shortloop.engines.messages import Asked, EngineNote, JobWork, Needs, UnitsDone, Work
from shortloop.errors import TransientError
from shortloop.jobs.keys.code import Code
from shortloop.jobs.store.notes import put_notes
from shortloop.plain import Plain
from shortloop.worker.threads import Pool

__all__ = ["Computing", "UnitFailed"]

PATIENCE = 30.0  # s until the process of the engine listens
LOOK_EVERY = 0.02  # s
SAID = 25  # lines of a log


class UnitFailed(RuntimeError):
    """A unit raised an exception, or ended its process, in a worker."""


class Computing:
    """The units of a job, computed by an engine.

    Parameters
    ----------
    engine : EngineNote
        As of `engine_of_run`.
    what : str
        What messages call the job: its stage and partition.
    unit_name : callable
        What messages call a unit.
    code : Code, optional
        The code of its method, for nodes that have not the project. Default: all nodes must have it.
    """

    def __init__(
        self, engine: EngineNote, what: str, unit_name: Callable[[int], str], code: Code | None = None
    ) -> None:
        self._engine = engine
        self._code = code
        self._what = what
        self._unit_name = unit_name
        self._said: dict[str, Plain] = {}
        self._hosts: dict[str, int] = {}
        self._kernels: dict[str, list[str]] = {}
        self._cpu_seconds = 0.0
        self._here: Facts | None = None
        self.threads: list[Pool] = []
        """Thread pools of the workers."""

    def described(self) -> dict[str, Plain]:
        """The engine and its workers, for the record.

        Returns
        -------
        dict
            Plain data.
        """
        found: dict[str, Plain] = {"name": self._engine["name"], **self._said}
        found |= {"processes": dict(self._hosts), "kernels": dict(self._kernels)}
        return {**found, "cpu_seconds": round(self._cpu_seconds, 2)}

    def units(
        self, costs: Sequence[float], units: Sequence[int], **work: Unpack[JobWork]
    ) -> Iterator[tuple[int, object]]:
        """Have units computed.

        Parameters
        ----------
        costs : sequence of float
            Of all units of the job.
        units : sequence of int
            Those to be computed.
        **work
            As of `JobWork`.

        Yields
        ------
        unit : int
            Its number.
        given : object
            What it gave.

        Raises
        ------
        UnitFailed
            If a unit raised.
        TransientError
            If the engine cannot be had, or is gone, or a worker is not like this machine.
        """
        libraries = [*cast("dict[str, str]", work["task"]["versions"])]
        with self._connected() as host:
            file, text = self._engine["here"]
            sent = Work(f"{work['folder']} {secrets.token_hex(8)}", pickle.dumps(work), (file, text))
            asked: Asked = {
                "work": sent,
                "costs": costs,
                "units": units,
                "asked": self._engine["asked"],
            }
            host.send_bytes(pickle.dumps(asked))
            while (said := self._heard(host)) is not None:
                if "needs" in said:
                    host.send_bytes(pickle.dumps(self._needs(work)))
                if "computed" in said:
                    done: UnitsDone = pickle.loads(self._bytes(host))
                    self._check(done, libraries)
                    yield from zip(done["units"], done["values"], strict=True)
                    self._see_failure(done)

    def _needs(self, work: JobWork) -> Needs:
        """What to send to nodes that have not the project."""
        if self._code is None:
            raise TransientError("a worker's node has not the project", file=work["project"])
        listing, sources = list_needs(work, self._code)
        seconds = self._engine["seconds"]
        return {"what": self._what, "listing": listing, "sources": sources, "seconds": seconds}

    def _heard(self, host: Connection) -> dict[str, Any] | None:
        """What the engine's process says next; None at the end."""
        said: dict[str, Any] = pickle.loads(self._bytes(host))
        if "wrong" in said:
            raise TransientError(said["wrong"])
        if "broken" in said:
            raise TransientError("the engine has failed", found=said["broken"].strip(), hint=self._hint())
        if "failed" in said:
            names = ", ".join(map(self._unit_name, said["failed"]))
            raise UnitFailed(f"{names} ({self._what}): {said['how']}, each time that it was tried")
        if "engine" in said:
            self._said |= said["engine"]
            self._said["workers"] = said["workers"]
        if said.get("sent"):
            self._said["sent_bytes"] = said["sent"]
        return None if "end" in said else said

    def _check(self, done: UnitsDone, libraries: Sequence[str]) -> None:
        """See that a worker is like this machine, and take over what else it says."""
        facts = done["facts"]
        if facts is not None:
            if self._here is None:
                self._here = facts_here(libraries)
            check_alike(self._here, facts, self._engine["other_kernels"])
            self._hosts[facts["host"]] = self._hosts.get(facts["host"], 0) + 1
            for library, code in facts["kernels"].items():
                if code not in self._kernels.setdefault(library, []):
                    self._kernels[library].append(code)
        put_notes(done["notes"])
        self.threads += done["threads"]
        self._cpu_seconds += done["cpu_seconds"]
        if done["printed"]:
            print(done["printed"], end="", flush=True)

    def _see_failure(self, done: UnitsDone) -> None:
        failure = done["failure"]
        if failure is not None:
            unit = failure["unit"]
            name = "to open the stage" if unit is None else self._unit_name(unit)
            raise UnitFailed(f"{name} ({self._what}) failed in a worker:\n{failure['traceback']}")

    def _connected(self) -> Connection:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return Client(self._engine["address"], "AF_UNIX", bytes.fromhex(self._engine["secret"]))
            except (OSError, EOFError, AuthenticationError) as error:
                if not _is_alive(self._engine["process"]) or time.monotonic() > deadline:
                    raise self._gone() from error
                time.sleep(LOOK_EVERY)

    def _bytes(self, host: Connection) -> bytes:
        try:
            return host.recv_bytes()
        except (EOFError, OSError):
            raise self._gone() from None

    def _gone(self) -> TransientError:
        lines = []
        with contextlib.suppress(OSError):
            lines = Path(self._engine["log"]).read_text(encoding="utf-8", errors="replace").splitlines()
        return TransientError(
            "the process of the engine has ended",
            found="\n    ".join(["", *lines[-SAID:]]) if lines else None,
            hint=self._hint(),
        )

    def _hint(self) -> str:
        return f"run again: units that are done are kept. {self._engine['log']} has what was said"


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return fields.rpartition(")")[2].split()[0] != "Z"
