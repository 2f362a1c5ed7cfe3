"""Measure a library in a fresh process: time, processor time, memory and result.

Libraries print what they like, so the process reports through a pipe of its own.
"""

from __future__ import annotations

import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import psutil

from shortloop.base.plain import Plain
from shortloop.base.types import FloatArray
from shortloop.frames.table import Checked, check_aggregates, check_random, result_of
from shortloop.frames.transformations import Aggregates, Work
from shortloop.stages.results import Result
from shortloop.stages.threads import VARIABLES

MAIN = "from shortloop.frames.measure import _main; _main({})"
SAMPLE_EVERY = 0.01  # s, of memory
POLL_EVERY = 1.0  # s, whether the process is alive
ENDED = "ended"
ERROR_LINES = 3  # of a failure
THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")  # those of BLAS are 1
ENOUGH = 0.5  # s: work that takes less in all repeats is repeated more often
MOST = 25  # repeats
LEAST = 0.3  # s, below which shares of time say nothing: clocks tick hundredths
SAMPLED = 0.3  # s that work takes, at least, while memory is sampled
OWN = re.compile(r"^Pss_(?:Anon|Shmem): +(\d+) kB", re.MULTILINE)
"""Memory of a process, and its part of what it shares; pages of files belong to the system."""


@dataclass
class Measured:
    start: float = 0.0  # s to import the library, start workers, compile, and do a little of the work
    seconds: list[float] = field(default_factory=list)  # wall-clock time of each repeat
    busy: float | None = None  # mean number of cores that it used
    others: float | None = None  # mean number of cores that other processes used meanwhile
    peak: int | None = None  # most memory, bytes, of a further repeat that is not timed
    failed: str = ""  # why there is no result
    result: FloatArray | Aggregates | None = None  # the new column, (rows,), or aggregates


def measure(
    work: Work, runner: str, transformation: str, repeats: int, limit: float, python: Path | None = None
) -> Measured:
    """Measure a runner, given as module:function, for at most `limit` seconds, with a Python of its own."""
    receiver, sender = Pipe()
    with tempfile.TemporaryDirectory() as name, receiver:
        folder, here = Path(name), Path(name) / "here"
        here.mkdir()
        with sender, (folder / "errors").open("wb") as errors:
            child = subprocess.Popen(
                [str(python or sys.executable), "-c", MAIN.format(sender.fileno())],
                cwd=here,
                env=environment(work.workers, None if python is None else folder),
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                pass_fds=[sender.fileno()],
                start_new_session=True,
            )
        try:
            with suppress(BrokenPipeError):
                work = replace(work, folder=os.path.abspath(work.folder))
                receiver.send((work, runner, transformation, repeats))
            measured = _listen(child, receiver, limit)
            status = child.returncode
        finally:
            _end(child)
        if measured.failed == ENDED:
            output = (folder / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = " / ".join(line.strip() for line in output[-ERROR_LINES:])
            measured.failed = f"failed: {last or f'ended with status {status}'}"
            if status == -signal.SIGKILL and not last:
                measured.failed = "was killed: perhaps there was not enough memory"
    return measured


def facts_of(measured: Measured, truth: Result, workers: int) -> dict[str, Plain]:
    """Facts of a job that measures: whether the library was right, and its times."""
    checked, result = Checked(), measured.result
    if isinstance(result, Aggregates):
        checked = check_aggregates(result, Aggregates(truth.arrays["counts"], truth.arrays["sums"]))
    elif result is not None:
        checked = check_random(result, np.asarray(truth.arrays["x"]))
    facts = {name: value for name, value in vars(measured).items() if name != "result"}
    return {"workers": workers, **checked._asdict(), **facts}


def environment(workers: int, alone: Path | None = None) -> dict[str, str]:
    """Variables of the process that measures; with a folder, it can import no package of ours but this."""
    package = Path(__file__).parents[1]
    path = [str(package.parent), *(each for each in sys.path if each)]
    if alone is not None:
        (alone / "path").mkdir()
        (alone / "path" / package.name).symlink_to(package)
        path = [str(alone / "path")]
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    threads = dict.fromkeys(VARIABLES, "1") | dict.fromkeys(THREADS, str(workers))
    return {**kept, **threads, "PYTHONPATH": os.pathsep.join(dict.fromkeys(path))}


def _listen(child: subprocess.Popen[bytes], receiver: Connection, limit: float) -> Measured:
    """Receive times, then the result, and sample memory in between."""
    measured, sampling, until = Measured(), False, time.monotonic() + limit
    try:
        while (left := until - time.monotonic()) > 0:
            if sampling:
                measured.peak = max(filter(None, (measured.peak, memory(child.pid))), default=None)
            if receiver.poll(min(left, SAMPLE_EVERY if sampling else POLL_EVERY)):
                message = receiver.recv()
                if isinstance(message, Measured):
                    measured = message
                elif message is not None:
                    return replace(measured, **{"failed" if isinstance(message, str) else "result": message})
                sampling = message is not None
            elif child.poll() is not None:  # its forks may hold the pipe
                raise EOFError
        measured.failed = f"took longer than {limit:g} s"
    except (EOFError, ConnectionResetError):
        with suppress(subprocess.TimeoutExpired):
            child.wait(POLL_EVERY)
        measured.failed = ENDED
    return measured


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started, including those that left its group."""
    started = family(child.pid)[1:]
    assert child.stdin is not None
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    for each in started:
        with suppress(psutil.Error):
            each.kill()
    child.stdin.close()
    child.wait()


def _main(descriptor: int) -> NoReturn:
    """Measure in this process, send times and the result, and wait to be ended."""
    began = time.perf_counter()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sender = Connection(descriptor)
    try:
        work, runner, transformation, repeats = sender.recv()
        measured, parts = Measured(), range(len(work.rows))
        with pkgutil.resolve_name(runner)(work) as run:
            run(transformation, parts[: work.workers])
            measured.start = time.perf_counter() - began
            time_repeats(measured, lambda: run(transformation, parts), repeats)
            sender.send(measured)
            until, found = time.monotonic() + SAMPLED, run(transformation, parts)
            while time.monotonic() < until:
                del found  # before the next one is made
                found = run(transformation, parts)
            sender.send(None)
            result = result_of(found, transformation, work)
        sender.send(result)
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        sender.send(ENDED)
    while True:  # its children are found only while it is there
        time.sleep(600)


def _end_with_parent() -> None:
    """End this process and its children when its parent, which holds the standard input, has ended."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def time_repeats(measured: Measured, run: Callable[[], object], repeats: int) -> None:
    own, every, began = cpu_seconds(os.getpid()), busy_seconds(), time.monotonic()
    seconds = measured.seconds
    while len(seconds) < repeats or (sum(seconds) < ENOUGH and len(seconds) < MOST):
        before = time.perf_counter()
        found = run()
        seconds.append(time.perf_counter() - before)
        del found  # before the next one is made
    wall = time.monotonic() - began
    if wall >= LEAST:
        own, after = cpu_seconds(os.getpid()) - own, busy_seconds()
        measured.busy = own / wall
        measured.others = None if every is None or after is None else max(0.0, (after - every - own) / wall)


def family(pid: int) -> list[Any]:
    """A process and its descendants, as psutil knows them."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def memory(pid: int) -> int | None:
    """Bytes of memory of a process and its descendants; shared memory counts once."""
    found = 0
    for each in family(pid):
        with suppress(OSError):
            text = Path(f"/proc/{each.pid}/smaps_rollup").read_text(encoding="ascii")
            found += 1024 * sum(map(int, OWN.findall(text)))
    return found or None


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and its descendants, including those that have ended."""
    total = 0.0
    for each in family(pid):
        with suppress(psutil.Error):
            total += sum(each.cpu_times()[:4])  # without waiting
    return total


def busy_seconds() -> float | None:
    """Time since boot that this process's processors were neither idle nor waiting for a disk."""
    mine, every = os.sched_getaffinity(0), psutil.cpu_times(percpu=True)
    return sum(sum(each[:3] + each[5:8]) for number, each in enumerate(every) if number in mine) or None
