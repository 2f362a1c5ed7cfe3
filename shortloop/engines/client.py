"""A job hands its units to the engine of its run, and keeps what they leave."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from multiprocessing.connection import Connection
from typing import Any, cast

from shortloop.engines.calling import called, gone, hint_of, packed
from shortloop.engines.ended import unit_lost
from shortloop.engines.facts import Facts, check_alike, check_same_code, facts_here
from shortloop.engines.messages import SLICES, Asked, EngineNote, JobWork, UnitsDone
from shortloop.engines.node_messages import Needs
from shortloop.engines.note import early_results
from shortloop.engines.received import Received, has_read_what_is_there
from shortloop.engines.spool import Spool
from shortloop.errors import TransientError
from shortloop.jobs.keys.code import Code
from shortloop.jobs.store.notes import put_notes
from shortloop.plain import Plain
from shortloop.worker.threads import Pool

__all__ = ["Computing", "UnitFailed"]


class UnitFailed(RuntimeError):
    """A unit raised an exception in a worker."""


class Computing:
    """The units of a job, computed by an engine.

    Parameters
    ----------
    engine : EngineNote or None
        As of `engine_of_run`.
    what : str
        What messages call the job: its stage and partition.
    unit_name : callable
        What messages call a unit.
    is_of : callable
        ``is_of(unit, given)``: whether what a worker gave was computed from what the unit reads here.
    code : Code, optional
        The code of its method, for nodes that have not the project. Default: all nodes must have it.
    """

    def __init__(
        self,
        engine: EngineNote | None,
        what: str,
        unit_name: Callable[[bytes], str],
        is_of: Callable[[bytes, object], bool],
        code: Code | None = None,
    ) -> None:
        self._engine = engine
        self._code = code
        self._what = what
        self._unit_name, self._is_of = unit_name, is_of
        self._said: dict[str, Plain] = {}
        self._hosts: dict[str, int] = {}
        self._kernels: dict[str, list[str]] = {}
        self._cpu_seconds = 0.0
        self._early = 0
        self._here: Facts | None = None
        self._versions: Mapping[str, str] = {}
        self._received = Received(self._is_usable)
        self.threads: list[Pool] = []
        """Thread pools of the workers."""

    def described(self) -> dict[str, Plain]:
        """The engine and its workers, for the record.

        Returns
        -------
        dict
            Plain data.
        """
        found: dict[str, Plain] = {"name": SLICES if self._engine is None else self._engine["name"]}
        found |= self._said
        found |= {"processes": dict(self._hosts), "kernels": dict(self._kernels)}
        if self._early:
            found["early"] = self._early
        return {**found, "cpu_seconds": round(self._cpu_seconds, 2)}

    def units(self, costs: Mapping[bytes, float], work: JobWork) -> Iterator[tuple[bytes, object]]:
        """Have units computed.

        Parameters
        ----------
        costs : mapping of bytes to float
            As of `shortloop.engines.messages.Asked`.
        work : JobWork
            What workers must know of the job.

        Yields
        ------
        unit : bytes
            A unit.
        given : object
            What it gave.

        Raises
        ------
        UnitFailed
            If a unit raised.
        TransientError
            If the engine cannot be had, or is gone, or a worker is not like this machine, or has other units.
        """
        engine, left = self._engine, dict(costs)
        assert engine is not None
        vain = 0
        while left:
            before = len(left)
            yield from self._asked(engine, left, work)
            vain = vain + 1 if len(left) == before else 0  # once, if all that was there was of no use
            if vain == 2:
                raise TransientError("the engine has left out units", hint=hint_of(engine))

    def done(
        self, batches: Iterable[bytes], costs: Mapping[bytes, float], work: JobWork
    ) -> Iterator[tuple[bytes, object]]:
        """Units that other processes of this job have computed; as `units`."""
        left = dict(costs)
        for data in batches:
            yield from self._taken(data, left, False, work)

    def lost(self, unit: bytes, found: str) -> TransientError:
        """The error of a unit whose process ended."""
        return unit_lost(self._unit_name(unit), found, self._what)

    def early(self, costs: Mapping[bytes, float], work: JobWork) -> Iterator[tuple[bytes, object]]:
        """Units that an engine has computed for a run that was cut off before the job began; none, if its
        workers were not like this machine.

        Parameters
        ----------
        costs, work
            As of `units`.

        Yields
        ------
        unit, given
            As `units`.

        Raises
        ------
        UnitFailed
            As `units`.
        """
        file = early_results() / packed(work).what
        if file.is_file():
            left, spool = dict(costs), Spool(file)
            with contextlib.closing(spool):
                for number in range(len(spool)):
                    try:
                        batch = spool.read(number)
                    except FileNotFoundError:  # deleted by the engine of the earlier run, which ends
                        return
                    yield from self._taken(batch.data, left, True, work)

    def _asked(
        self, engine: EngineNote, left: dict[bytes, float], work: JobWork
    ) -> Iterator[tuple[bytes, object]]:
        """The engine is asked once for all units that are left; those that it gives are taken out of them."""
        with called(engine) as host:
            sent = packed(work, engine["here"])
            asked: Asked = {"work": sent, "costs": left, "asked": engine["asked"]}
            host.send_bytes(pickle.dumps(asked))
            while (said := self._heard(host, engine)) is not None:
                if "needs" in said:
                    host.send_bytes(pickle.dumps(self._needs(work, engine)))
                if "computed" in said:
                    yield from self._taken(_bytes(host, engine), left, said["early"], work)

    def _taken(
        self, data: bytes, left: dict[bytes, float], early: bool, work: JobWork
    ) -> Iterator[tuple[bytes, object]]:
        """Those units of a batch that are left: the job may have others from elsewhere."""
        self._versions = cast("dict[str, str]", work["task"]["versions"])
        for done in self._received.add(pickle.loads(data), early):
            self._check(done)
            for unit, given in zip(done["units"], done["values"], strict=True):
                if unit in left:
                    if not self._is_of(unit, given):
                        if early:
                            continue
                        raise self._differs(unit, "reads something else")
                    del left[unit]
                    self._early += early
                    yield unit, given
            self._see_failure(done)

    def _is_usable(self, done: UnitsDone) -> bool:
        """Whether what was computed early is what would be computed now."""
        try:
            self._check_alike(done)
        except TransientError:
            return False
        return has_read_what_is_there(done)

    def _needs(self, work: JobWork, engine: EngineNote) -> Needs:
        """What to send to nodes that have not the project."""
        from shortloop.engines.listing import list_needs

        if self._code is None:
            raise TransientError("a worker's node has not the project", file=work["project"])
        listing, sources = list_needs(work, self._code)
        return {"what": self._what, "listing": listing, "sources": sources, "seconds": engine["seconds"]}

    def _heard(self, host: Connection, engine: EngineNote) -> dict[str, Any] | None:
        """What the engine's process says next; None at the end."""
        said: dict[str, Any] = pickle.loads(_bytes(host, engine))
        if "wrong" in said:
            raise TransientError(said["wrong"])
        if "broken" in said:
            raise TransientError("the engine has failed", found=said["broken"].strip(), hint=hint_of(engine))
        if "failed" in said:
            raise self.lost(said["failed"][0], f"{said['how']}, each time that it was tried")
        if "engine" in said:
            self._said |= said["engine"]
            self._said["workers"] = said["workers"]
        if said.get("sent"):
            self._said["sent_bytes"] = said["sent"]
        return None if "end" in said else said

    def _check_alike(self, done: UnitsDone) -> None:
        """See that a worker is like this machine."""
        facts = done["facts"]
        if facts is not None:
            if self._here is None:
                self._here = facts_here(self._versions, self._versions)
            check_alike(self._here, facts, self._engine is not None and self._engine["other_kernels"])
            if self._code is not None:
                check_same_code(self._code.modules, done["notes"], facts["host"])

    def _check(self, done: UnitsDone) -> None:
        """See that a worker is like this machine, and take over what else it says."""
        facts = done["facts"]
        self._check_alike(done)
        if facts is not None:
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
            if unit is not None and not failure["traceback"]:
                raise self._differs(unit, "is not there")
            name = "to open the stage" if unit is None else self._unit_name(unit)
            raise UnitFailed(f"{name} ({self._what}) failed in a worker:\n{failure['traceback']}")

    def _differs(self, unit: bytes, how: str) -> TransientError:
        """What to say of a unit that is another one in a worker."""
        only_one = "; with `SHORTLOOP_ENGINE=slices`, only one process looks for units"
        return TransientError(
            "the units of a stage are not the same in each process that looks for them",
            found=f"{self._unit_name(unit)} ({self._what}) {how} in a worker",
            expected="the same units, and the same data for each, whenever the job's inputs are the same",
            hint="sort what has no order of its own, such as a set or a folder, and seed what is random"
            + ("" if self._engine is None else only_one),
        )


def _bytes(host: Connection, engine: EngineNote) -> bytes:
    try:
        return host.recv_bytes()
    except (EOFError, OSError):
        raise gone(engine) from None
