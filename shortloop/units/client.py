"""The job's side of an engine: send units, check workers, store results."""

from __future__ import annotations

import contextlib
import pickle
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, Literal, cast

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.keys.code import Code
from shortloop.stages.threads import Pool
from shortloop.store.process_notes import write_notes
from shortloop.units.machine_facts import Facts, check_alike, check_same_code, facts_here
from shortloop.units.messages import SLICES, EngineNote, JobWork, Needs, Printed, UnitsDone, Work
from shortloop.units.process_ends import job_lost, process_of

PATIENCE = 30.0  # s until the process of the engine listens
LOOK_EVERY = 0.02  # s
LOG_LINES = 25  # of the engine, in a message


class EngineSilent(TransientError):
    """An engine that computes nothing and does not answer."""


class Computing:
    """Units of a job that are computed elsewhere: by an engine, or by other processes of the job."""

    def __init__(
        self,
        engine: EngineNote | None,
        work: JobWork,
        costs: Mapping[bytes, float],
        what: str,  # name of the job in messages
        unit_name: Callable[[bytes], str],
        is_of: Callable[[bytes, object], bool],  # whether a worker computed from the same data
        given_up: Callable[[bytes, str], object],  # gives the value of a unit whose process ended, or raises
        code: Code,  # for nodes without the project
        keep_printed: Callable[[Printed], None],
    ) -> None:
        self._engine: Any = engine
        self._work, self._left, self._what, self._code = work, dict(costs), what, code
        self._unit_name, self._is_of, self.given_up = unit_name, is_of, given_up
        self._keep_printed = keep_printed
        self._description: dict[str, Plain] = {"name": SLICES if engine is None else engine["name"]}
        self._hosts: Counter[str] = Counter()
        self._kernels: defaultdict[str, dict[str, None]] = defaultdict(dict)  # ordered sets
        self._cpu_seconds = 0.0
        self._here: Facts | None = None
        self._received = Received()
        self.threads: list[Pool] = []  # of the workers

    def described(self) -> dict[str, Plain]:
        kernels: dict[str, Plain] = {library: [*codes] for library, codes in self._kernels.items()}
        return {
            **self._description,
            "processes": dict(self._hosts),
            "kernels": kernels,
            "cpu_seconds": round(self._cpu_seconds, 2),
        }

    @property
    def left(self) -> dict[bytes, float]:
        """Costs of the unfinished units."""
        return {**self._left}

    def units(self) -> Iterator[tuple[bytes, object]]:
        """Have the engine compute the units; yield the values of each."""
        vain = 0
        while self._left:
            before = len(self._left)
            yield from self._asked()
            vain = vain + 1 if len(self._left) == before else 0  # once, if all that was there was of no use
            if vain == 2:
                raise TransientError("the engine did not compute all units", hint=_hint_of(self._engine))

    def done(self, batches: Iterable[bytes]) -> Iterator[tuple[bytes, object]]:
        """Yield the values of units in batches, as other processes of this job have computed them."""
        for data in batches:
            for done in self._received.add(pickle.loads(data)):
                self._check(done)
                for unit, values in zip(done["units"], done["values"], strict=True):
                    if unit in self._left:  # the job may have others from elsewhere
                        given = pickle.loads(values)
                        if not self._is_of(unit, given):
                            raise self._differs(unit, "reads something else")
                        del self._left[unit]
                        yield unit, given
                if (failure := done.get("failure")) is None:
                    continue
                failed, text = failure["unit"], failure["traceback"]
                if failed is not None and not text:
                    raise self._differs(failed, "is not there")
                name = "to open the stage" if failed is None else self._unit_name(failed)
                raise RuntimeError(f"{name} ({self._what}) failed in a worker:\n{text}")

    def lost(self, unit: bytes, found: str) -> TransientError:
        return job_lost(self._what, found, self._unit_name(unit))

    def _asked(self) -> Iterator[tuple[bytes, object]]:
        """Ask the engine once for all units that are left, and remove those that it returns."""
        with _connect(self._engine) as host:
            file, text = self._engine["here"]
            sent = Work(secrets.token_hex(8), pickle.dumps(self._work), (file, text))
            host.send_bytes(pickle.dumps((sent, self._left, self._of_run("asked") or {})))
            while (said := self._heard(host)) is not None:
                if "failed" in said:
                    unit = said["failed"][0]
                    given = self.given_up(unit, f"{said['how']}, each time that it was tried")
                    del self._left[unit]
                    yield unit, given
                    return
                if "needs" in said:
                    host.send_bytes(pickle.dumps(self._needs()))
                if "computed" in said:
                    yield from self.done([_received_bytes(host, self._engine)])

    def _of_run(self, name: Literal["asked", "seconds"]) -> Any:
        return self._engine["jobs"].get(self._what, {}).get(name)

    def _needs(self) -> Needs:
        """List code and data for nodes without the project."""
        from shortloop.units.listing import list_needs

        listing, sources = list_needs(self._work, self._code)
        seconds = self._of_run("seconds")
        return {"what": self._what, "listing": listing, "sources": sources, "seconds": seconds}

    def _heard(self, host: Connection) -> dict[str, Any] | None:
        said: dict[str, Any] = pickle.loads(_received_bytes(host, self._engine))
        if "wrong" in said:
            raise TransientError(said["wrong"])
        if "silent" in said:
            raise EngineSilent(
                "the engine does not answer", found=said["silent"], hint=_hint_of(self._engine)
            )
        if "broken" in said:
            hint = _hint_of(self._engine)
            raise TransientError("the engine has failed", found=said["broken"].strip(), hint=hint)
        if "engine" in said:
            self._description |= {**said["engine"], "workers": said["workers"]}
        if said.get("sent"):
            self._description["sent_bytes"] = said["sent"]
        return None if "end" in said else said

    def _check(self, done: UnitsDone) -> None:
        """Check that a worker is like this machine, and take over its notes."""
        if (facts := done.get("facts")) is not None:
            if self._here is None:
                versions = cast("dict[str, str]", self._work["task"]["versions"])
                self._here = facts_here(versions, versions)
            check_alike(self._here, facts, self._engine is not None and self._engine["other_kernels"])
            check_same_code(self._code.modules, done.get("notes", b""), facts["host"])
            self._hosts[facts["host"]] += 1
            for library, code in facts["kernels"].items():
                self._kernels[library][code] = None
        write_notes(done.get("notes", b""))
        self.threads += done.get("threads", [])
        self._cpu_seconds += done.get("cpu_seconds", 0.0)
        for name, content in done.get("recorded", {}).items():  # the job is in its scratch folder
            with open(f"../../{name}", "ab") as stream:
                stream.write(content)
        if printed := done.get("printed"):
            self._keep_printed(printed)

    def _differs(self, unit: bytes, how: str) -> TransientError:
        """The error for a unit that differs in a worker."""
        return TransientError(
            "the units of a stage differ between processes",
            found=f"{self._unit_name(unit)} ({self._what}) {how} in a worker",
            expected="the same units, and the same data for each, whenever the job's inputs are the same",
            hint="sort collections without an order, such as sets or folders, and seed random numbers; with "
            "`SHORTLOOP_ENGINE=slices`, only one process lists units",
        )


def _received_bytes(host: Connection, engine: EngineNote) -> bytes:
    try:
        return host.recv_bytes()
    except (EOFError, OSError):
        raise _gone(engine) from None


class Received:
    """Batches of a job; each counts as soon as all is known that its process noted before."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}  # bytes of notes, by process
        self._waiting: defaultdict[str, list[UnitsDone]] = defaultdict(list)

    def add(self, done: UnitsDone) -> Iterator[UnitsDone]:
        """Add a batch; yield those that count now, with facts and notes that were not known."""
        process = done["process"]
        waiting = self._waiting[process]
        waiting.append(done)
        while (found := self._next(waiting, self._known.get(process, 0))) is not None:
            waiting.remove(found)
            if process in self._known:
                found.pop("facts", None)
            known, notes, at = self._known.get(process, 0), found.get("notes", b""), found.get("at", 0)
            found["notes"] = notes[known - at :]
            self._known[process] = max(known, at + len(notes))
            yield found

    def _next(self, waiting: Sequence[UnitsDone], known: int) -> UnitsDone | None:
        return next((each for each in waiting if each.get("at", 0) <= known), None)


def _connect(engine: EngineNote) -> Connection:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return Client(engine["address"], "AF_UNIX", bytes.fromhex(engine["secret"]))
        except (OSError, EOFError, AuthenticationError) as error:
            if process_of(engine["process"]).state in ("", "Z") or time.monotonic() > deadline:
                raise _gone(engine) from error
            time.sleep(LOOK_EVERY)


def _gone(engine: EngineNote) -> TransientError:
    lines = []
    with contextlib.suppress(OSError):
        lines = Path(engine["log"]).read_text(encoding="utf-8", errors="replace").splitlines()
    found = "\n    ".join(["", *lines[-LOG_LINES:]]) if lines else None
    return TransientError("the process of the engine has ended", found=found, hint=_hint_of(engine))


def _hint_of(engine: EngineNote) -> str:
    return f"run again: units that are done are kept. See the engine's log, {engine['log']}"
