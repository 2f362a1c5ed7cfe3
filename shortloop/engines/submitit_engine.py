"""Engine for Slurm, by submitit: each batch is a task of a job array, in a process that starts anew."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections import deque
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import fmean
from typing import TypeAlias

import submitit
from submitit.core.utils import FailedJobError, FailedSubmissionError, UncompletedJobError

from shortloop.base.errors import TransientError
from shortloop.base.plain import Plain
from shortloop.engines.engine import Asked, Computed, Engine, Resources
from shortloop.engines.send_files import AGAIN, Supplies
from shortloop.engines.worker import compute_batch
from shortloop.settings.engine import EngineSettings
from shortloop.units.messages import Reply, Work, engine_folder
from shortloop.units.process_ends import process_of
from shortloop.units.queue import Batches

SLURM = "slurm"
START = 5.0  # s that a task takes before its first unit, until it was seen
TIMES = 10.0  # as long a batch takes at least
MINUTES = 60  # that a task may take, unless the settings say otherwise
LOOK_EVERY = 0.5  # s
CANCELLED = 16  # tasks at a time: each is a command of Slurm
PREEMPTED = "PREEMPTED"
# Reasons of a task to wait that do not go away, as of `squeue`.
NEVER = re.compile(r"BadConstraints|Invalid|JobHeld|NotAllowed|Partition|PerJob")

Task: TypeAlias = "submitit.Job[tuple[Reply, float]]"


class SubmititEngine(Engine):
    """Tasks of Slurm, as many at a time as `workers`; of this machine, if the address is ``local``."""

    def __init__(self, settings: EngineSettings, workers: int) -> None:
        super().__init__(settings, workers)
        for left in engine_folder().glob("submitit-*"):  # by a run that was killed
            shutil.rmtree(left, ignore_errors=True)
        self._folder = engine_folder() / f"submitit-{os.getpid()}"
        self._folder.mkdir(mode=0o700)
        self._starts = deque([START], maxlen=100)
        self._tasks: dict[Task, Asked] = {}

    def compute(self, supplies: Supplies, batches: Batches[bytes], asked: Asked) -> Iterator[Computed]:
        executor = self._executor(asked)
        out: dict[Task, list[bytes]] = {}
        try:
            while True:
                batches.resize(self.count, TIMES * fmean(self._starts))
                more: list[list[bytes]] = []
                while len(out) + len(more) < self.count and (units := batches.next()):
                    more.append(units)
                if more:
                    out |= zip(self._submitted(executor, supplies.work, more, asked), more, strict=True)
                if not out:
                    return
                time.sleep(LOOK_EVERY)
                for task in [each for each in out if each.done() or each.state == PREEMPTED]:
                    self._tasks.pop(task, None)
                    yield Computed(out.pop(task), self._reply(task))
        finally:
            _cancel(out)

    def silent(self, asked: Asked) -> str:
        arrays = {task.job_id.partition("_")[0] for task, of in [*self._tasks.items()] if of == asked}
        if self.settings.address or not arrays:
            return ""
        command = ["squeue", "--noheader", "--format=%r", f"--jobs={','.join(arrays)}"]
        reasons = {*filter(NEVER.search, subprocess.check_output(command, text=True).split())}
        needs = Resources.of(asked).lacking([])
        return f"Slurm starts no task that needs {needs} ({', '.join(sorted(reasons))})" if reasons else ""

    def described(self) -> dict[str, Plain]:
        return {"version": submitit.__version__, "where": self.settings.address or SLURM}

    def close(self) -> None:
        _cancel(self._tasks)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _executor(self, asked: Asked) -> submitit.Executor:
        options = {"name": "shortloop", "timeout_min": MINUTES, **(self.settings.options or {})}
        needed = Resources.of(asked)
        if "cores" in asked:
            options["cpus_per_task"] = int(needed.cores)
        if needed.memory:
            options["mem_gb"] = needed.memory / 2**30
        if needed.gpus:
            options["gpus_per_node"] = int(needed.gpus)
        try:
            executor = submitit.AutoExecutor(self._folder, self.settings.address or SLURM)
            executor.update_parameters(**options)
        except (AssertionError, NameError, RuntimeError, TypeError, ValueError) as error:
            hint = "see submitit's documentation for `options`; sbatch and srun must be on this machine"
            problem = "Slurm cannot be used so"
            raise TransientError(problem, field="engine", found=str(error), hint=hint) from None
        return executor

    def _submitted(
        self, executor: submitit.Executor, work: Work, batches: list[list[bytes]], asked: Asked
    ) -> list[Task]:
        try:
            tasks = executor.map_array(_compute, [work] * len(batches), batches)
        except (FailedJobError, FailedSubmissionError, OSError) as error:
            raise TransientError("Slurm does not take tasks", found=str(error), hint=AGAIN) from None
        self._tasks |= dict.fromkeys(tasks, asked)
        return tasks

    def _reply(self, task: Task) -> Reply:
        if not task.done():
            task.cancel(check=False)  # it could start again
            return Reply(0.0, b"", "its task was preempted")
        try:
            reply, start = task.result()
        except UncompletedJobError as error:
            if not isinstance(error, FailedJobError):  # it was killed
                last = (task.stderr() or "").splitlines()[-1:]
                return Reply(0.0, b"", ": ".join([f"its task ended, {task.state}", *last]))
            if UncompletedJobError.__name__ in str(error):
                return Reply(0.0, b"", "its task was preempted, or had no time left")
            raise RuntimeError(f"a task has failed: {error}") from None
        task.paths.result_pickle.unlink(missing_ok=True)
        if not reply.lost:
            self._starts.append(start)
        return reply


def _compute(work: Work, units: list[bytes]) -> tuple[Reply, float]:
    """Compute a batch in a task; return the seconds of the task in which no unit was computed, too."""
    reply = compute_batch(work, units)
    began = process_of(os.getpid()).started / os.sysconf("SC_CLK_TCK")
    start = time.clock_gettime(time.CLOCK_BOOTTIME) - began - reply.seconds
    return reply._replace(worker=socket.gethostname()), start


def _cancel(tasks: Collection[Task]) -> None:
    with ThreadPoolExecutor(CANCELLED) as threads:
        for task in [*tasks]:
            threads.submit(task.cancel, check=False)
