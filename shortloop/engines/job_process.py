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
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from shortloop.engines.facts import Facts, facts_here
from shortloop.engines.messages import Failure, JobWork, UnitsDone
from shortloop.engines.mirrored import explained, translated, where_of
from shortloop.jobs.exax.datasets import open_dataset
from shortloop.jobs.exax.elsewhere import be_of_job
from shortloop.jobs.store.notes import NOTED
from shortloop.worker.output import compute_row, compute_unit
from shortloop.worker.task import Task, open_stage
from shortloop.worker.threads import check_single_thread

__all__ = ["serve"]


def serve(connection: Connection, work: JobWork) -> None:
    """Compute batches until there are no more.

    Parameters
    ----------
    connection : Connection
        Numbers of units come from it; the seconds they took and an encoded `UnitsDone` go into it.
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
            started = time.perf_counter()
            done = process.compute(units)
            try:
                data = pickle.dumps(done, pickle.HIGHEST_PROTOCOL)
            except Exception:
                data = pickle.dumps(process.unsendable(done), pickle.HIGHEST_PROTOCOL)
            connection.send_bytes(pickle.dumps(time.perf_counter() - started))
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
        self._facts: Facts | None = None
        self._has_facts = False
        self._compute: Callable[[int], Mapping[str, object] | bytes] | None = None
        be_of_job(work, folder)

    def compute(self, units: Sequence[int]) -> UnitsDone:
        done: list[int] = []
        values: list[Mapping[str, object] | bytes] = []
        failure: Failure | None = None
        unit = None
        try:
            compute = self._opened()
            for unit in units:
                values.append(compute(unit))
                done.append(unit)
        except Exception as error:
            said = explained(traceback.format_exc(), error, self._mirrored)
            failure = {"unit": unit, "traceback": said}
        return self._said(done, values, failure)

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

    def _opened(self) -> Callable[[int], Mapping[str, object] | bytes]:
        if self._compute is None:
            task = Task(
                **cast("Any", self._work["task"]), where=where_of(self._work), open_dataset=open_dataset
            )
            stage = open_stage(task)
            if self._work["collects"]:
                self._compute = lambda unit: compute_row(stage, unit)
            else:
                self._compute = lambda unit: compute_unit(stage, unit)
        return self._compute

    def _said(
        self, units: list[int], values: list[Mapping[str, object] | bytes], failure: Failure | None
    ) -> UnitsDone:
        cpu = _cpu_seconds()
        cpu, self._cpu = cpu - self._cpu, cpu
        threads = check_single_thread()
        facts = (
            None if self._has_facts else facts_here(cast("dict[str, str]", self._work["task"]["versions"]))
        )
        self._has_facts = True
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        return {
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
