"""Process that computes a job's units for a worker; a fork of ``forkserver``.

Like a slice, it has loaded what the job's method imports and nothing of other jobs, and notes what it loads
and reads.

Made for exax 2025.11.11. Upstream: exax could offer a function that makes a process one of a job.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import secrets
import socket
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from shortloop.exax.cost import cpu_seconds
from shortloop.exax.datasets import know_workdirs, open_dataset, refuse_other_slices
from shortloop.exax.listener import note_units
from shortloop.exax.patches.watch import watch_units
from shortloop.project.project import project_directory
from shortloop.stages.failures import Tried, text_of
from shortloop.stages.identity import ids_of_units
from shortloop.stages.needs import KEEP, needs_of
from shortloop.stages.output import computed
from shortloop.stages.stage import Stage
from shortloop.stages.task import Task, costs_of
from shortloop.stages.threads import check_single_thread
from shortloop.store.loaded import here
from shortloop.store.process_notes import NOTED, take_notes
from shortloop.units.machine_facts import Facts, facts_here
from shortloop.units.messages import Failure, JobWork, Printed, UnitsDone
from shortloop.units.node_cache import INSIDE
from shortloop.units.sandbox import check_refused, enter_sandbox, explained, translated, where_of
from shortloop.units.shared_units import open_shared, withdraw
from shortloop.units.unit_output import flush_output

REPEATED = 4  # batches with which notes are sent, as those of a cluster may be lost


def serve(connection: Connection, work: JobWork) -> None:
    gc.disable()  # as exax does in slices
    with tempfile.TemporaryDirectory(prefix="shortloop-") as folder, contextlib.ExitStack() as end:
        end.callback(withdraw)
        compute: Any = _JobProcess(work, Path(folder)).compute
        if "recorder" in work:
            from shortloop.units.recording import recorded_batches

            compute = recorded_batches(compute, work["recorder"], Path(folder))
        while True:
            try:
                units = pickle.loads(connection.recv_bytes())
            except EOFError:
                return
            done, seconds = compute(units)
            connection.send_bytes(pickle.dumps((seconds, done.get("failure") is not None)))
            connection.send_bytes(pickle.dumps(done, pickle.HIGHEST_PROTOCOL))


class _JobProcess:
    def __init__(self, work: JobWork, folder: Path) -> None:
        self._work, self._folder = work, folder
        self._mirrored = work.get("mirrored")
        (folder / NOTED).touch()
        with (folder / "printed").open("ab") as printed:
            for output in (1, 2):
                os.dup2(printed.fileno(), output)
        self._notes = (folder / NOTED).open("rb")
        self._printed = (folder / "printed").open("rb")
        self._kept: Printed = []
        self._cpu = cpu_seconds()
        self._name = secrets.token_hex(8)
        self._facts: Facts | None = None
        self._noted, self._at = deque[bytes](maxlen=REPEATED), 0  # notes, and where the first of them begin
        self._stage: Stage | None = None
        self._numbers: dict[bytes, int] = {}  # which units have here
        _join_job(work, folder)

    def compute(self, units: Sequence[bytes]) -> tuple[UnitsDone, float]:
        done: list[bytes] = []
        values: list[bytes] = []
        failure: Failure | None = None
        unit = None
        started = time.perf_counter()
        try:
            stage = self._opened()
            check_refused()
            self._keep_printed(None)
            started = time.perf_counter()
            note_units([self._numbers[each] for each in units if each in self._numbers], stage.unit_name)
            for unit in units:
                if (number := self._numbers.get(unit)) is None:
                    failure = {"unit": unit, "traceback": ""}
                    break
                try:
                    value = _pickled(stage, computed(stage, number))
                finally:
                    self._keep_printed(unit)
                check_refused()  # it may have gone on without
                values.append(value)
                done.append(unit)
        except BaseException as error:  # also `SystemExit`
            failure = {"unit": unit, "traceback": explained(traceback.format_exc(), error, self._mirrored)}
        seconds = time.perf_counter() - started
        note_units((), str)
        return self._said(done, values, failure), seconds

    def _opened(self) -> Stage:
        if self._stage is None:
            where = where_of(self._work)
            task = Task(**cast("Any", self._work["task"]), where=where, open_dataset=open_dataset)
            stage = open_shared(task, self._work, self._folder)
            self._numbers = {unit: number for number, unit in enumerate(ids_of_units(stage, costs_of(stage)))}
            self._stage = stage
        return self._stage

    def _said(self, units: list[bytes], values: list[bytes], failure: Failure | None) -> UnitsDone:
        said: UnitsDone = {
            "process": self._name,
            "units": units,
            "values": values,
            "cpu_seconds": cpu_seconds() - self._cpu,
            "threads": check_single_thread(),
            "failure": failure,
        }
        self._cpu += said["cpu_seconds"]
        if self._facts is None:
            self._facts = facts_here(cast("dict[str, str]", self._work["task"]["versions"]))
        said["facts"] = self._facts
        self._keep_printed(None)
        said["printed"], self._kept = self._kept, []
        if len(self._noted) == REPEATED:
            self._at += len(self._noted[0])
        self._noted.append(translated(self._notes.read(), self._mirrored))
        said["notes"], said["at"] = b"".join(self._noted), self._at
        return said

    def _keep_printed(self, unit: bytes | None) -> None:
        flush_output()
        if os.fstat(self._printed.fileno()).st_size > self._printed.tell():
            self._kept.append((unit, self._printed.read().decode("utf-8", "replace")))


def _pickled(stage: Stage, value: object) -> bytes:
    """Return the values of a unit as they are sent; of one that cannot be sent, its error."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        if needs_of(type(stage)).on_error != KEEP:
            raise
        return pickle.dumps(Tried(None, [text_of(error)], traceback.format_exc()))


def _join_job(work: JobWork, folder: Path) -> None:
    """Make this process one of a job: without modules of other jobs, noting what it loads and reads."""
    from accelerator import g

    os.chdir(folder)
    mirrored = work.get("mirrored")
    if mirrored is not None:  # jobs and inputs lie in a folder of their own, which is the project from now on
        sys.path.insert(0, f"{mirrored['data']}/{INSIDE}")
    g.running, g.slices = "analysis", work["slices"]
    # Where exax's parts report what they do; nobody need listen.
    os.environ["BD_STATUS_FD"] = str(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).detach())
    refuse_other_slices()
    know_workdirs(here().workdirs)
    take_notes(folder)
    watch_units(work["package"], work["closure"])
    if mirrored is not None:
        enter_sandbox(mirrored)
    os.chdir(project_directory())  # as where exax's jobs import their methods
    with contextlib.suppress(Exception):  # a unit says why, if it cannot be imported
        importlib.import_module(f"{work['package']}.a_{work['task']['name']}")
    os.chdir(folder)
