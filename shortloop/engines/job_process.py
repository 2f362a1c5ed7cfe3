"""A process that computes units of one job, for whoever sends it batches; a fork of `forkserver`.

It is to a job what a slice is: it has loaded what the job's method imports and nothing of other jobs, and
notes what it loads and reads.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import resource
import secrets
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from shortloop.engines.facts import facts_here
from shortloop.engines.messages import BEGIN, Failure, JobWork, UnitsDone
from shortloop.engines.mirrored import explained, translated, where_of
from shortloop.engines.refusing import check_refused
from shortloop.jobs.exax.datasets import open_dataset
from shortloop.jobs.exax.elsewhere import be_of_job
from shortloop.jobs.exax.silence import note_units
from shortloop.jobs.store.notes import NOTED
from shortloop.worker.identity import ids_of_units
from shortloop.worker.output import computed
from shortloop.worker.stage import Stage
from shortloop.worker.task import Task, costs_of, open_stage
from shortloop.worker.threads import check_single_thread

__all__ = ["serve"]


def serve(connection: Connection, work: JobWork) -> None:
    """Compute batches until there are no more.

    Parameters
    ----------
    connection : Connection
        Units come from it, or `BEGIN`; the seconds they took, whether one raised, what all units
        cost if that was asked for, and an encoded `UnitsDone` go into it.
    work : JobWork
        The job.
    """
    gc.disable()  # as exax does in slices
    with tempfile.TemporaryDirectory(prefix="shortloop-") as folder:
        process = _JobProcess(work, Path(folder))
        while True:
            try:
                units = pickle.loads(connection.recv_bytes())
            except EOFError:
                return
            costs = process.costs() if units == BEGIN else {}
            if units == BEGIN:
                units = [max(costs, key=costs.__getitem__)] if costs else []
            done, seconds = process.compute(units)
            try:
                data = pickle.dumps(done, pickle.HIGHEST_PROTOCOL)
            except Exception:
                done = process.unsendable(done)
                data = pickle.dumps(done, pickle.HIGHEST_PROTOCOL)
            failed = done["failure"] is not None
            connection.send_bytes(pickle.dumps((seconds, failed, costs)))
            connection.send_bytes(data)


class _JobProcess:
    def __init__(self, work: JobWork, folder: Path) -> None:
        self._work = work
        self._mirrored = work.get("mirrored")
        (folder / NOTED).touch()
        with (folder / "printed").open("ab") as printed:
            for output in (1, 2):
                os.dup2(printed.fileno(), output)
        self._notes = (folder / NOTED).open("rb")
        self._printed = (folder / "printed").open("rb")
        self._cpu = _cpu_seconds()
        self._name = secrets.token_hex(8)
        self._said_before = 0
        self._stage: Stage | None = None
        self._numbers: dict[bytes, int] = {}  # which units have here
        be_of_job(work, folder)

    def costs(self) -> dict[bytes, float]:
        """What units cost, if they are to be shared out. What is wrong, is said when one is computed."""
        with contextlib.suppress(Exception):
            stage = self._opened()
            costs = costs_of(stage)
            if len(costs) > 1 and not stage.is_small():
                return dict(zip(self._numbers, costs, strict=True))
        return {}

    def compute(self, units: Sequence[bytes]) -> tuple[UnitsDone, float]:
        """Compute units; what came of them, and the seconds they took."""
        done: list[bytes] = []
        values: list[Mapping[str, object] | bytes] = []
        failure: Failure | None = None
        unit = None
        started = time.perf_counter()
        try:
            stage = self._opened()
            check_refused()
            started = time.perf_counter()
            note_units([self._numbers[each] for each in units if each in self._numbers], stage.unit_name)
            for unit in units:
                number = self._numbers.get(unit)
                if number is None:
                    failure = {"unit": unit, "traceback": ""}
                    break
                value = computed(stage, number)
                check_refused()  # it may have gone on without
                values.append(value)
                done.append(unit)
        except BaseException as error:  # also `SystemExit`
            said = explained(traceback.format_exc(), error, self._mirrored)
            failure = {"unit": unit, "traceback": said}
        seconds = time.perf_counter() - started
        note_units((), str)
        return self._said(done, values, failure), seconds

    def unsendable(self, done: UnitsDone) -> UnitsDone:
        """What to say if that cannot be sent: which unit gave something that has no bytes."""
        for number, unit in enumerate(done["units"]):
            try:
                pickle.dumps(done["values"][number])
            except Exception:
                failure: Failure = {"unit": unit, "traceback": traceback.format_exc()}
                return {
                    **done,
                    "units": done["units"][:number],
                    "values": done["values"][:number],
                    "failure": failure,
                }
        raise AssertionError("all of it can be sent")

    def _opened(self) -> Stage:
        if self._stage is None:
            where = where_of(self._work)
            task = Task(**cast("Any", self._work["task"]), where=where, open_dataset=open_dataset)
            stage = open_stage(task)
            ids = ids_of_units(stage, costs_of(stage))
            self._numbers = {unit: number for number, unit in enumerate(ids)}
            self._stage = stage
        return self._stage

    def _said(
        self, units: list[bytes], values: list[Mapping[str, object] | bytes], failure: Failure | None
    ) -> UnitsDone:
        cpu = _cpu_seconds()
        cpu, self._cpu = cpu - self._cpu, cpu
        threads = check_single_thread()
        number, self._said_before = self._said_before, self._said_before + 1
        facts = None if number else facts_here(cast("dict[str, str]", self._work["task"]["versions"]))
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        return {
            "process": self._name,
            "number": number,
            "units": units,
            "values": values,
            "cpu_seconds": cpu,
            "facts": facts,
            "threads": threads,
            "notes": translated(_since(self._notes), self._mirrored),
            "printed": _since(self._printed).decode("utf-8", "replace"),
            "failure": failure,
        }


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _since(stream: Any) -> bytes:
    """What others have put into a file since this process has read it."""
    data: bytes = stream.read()
    return data
