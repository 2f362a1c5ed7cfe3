"""What a machine can do: arithmetic, memory, disk, and the costs of processes, measured once and kept."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from shortloop.base.errors import TransientError
from shortloop.project.project import cache_directory, cache_place, configuration, keep
from shortloop.stages.threads import set_single_thread

FOLDER = "limits"
SIDE = 768  # of the matrices that are multiplied
COPIED, BLOCK, ON_DISK = 128_000_000, 8_000_000, 256_000_000  # bytes
LEAST, TIMES = 0.3, 40  # s for which each process repeats what is measured; repeats of short calls
PAGE = 4096
PATIENCE = 60  # s, for all processes to begin
T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """What this machine can do. Lists are by `processes`, all of one thread, that do it at a time."""

    machine: str
    measured: float = 0.0  # seconds since 1970
    processes: list[int] = field(default_factory=list)
    flop: list[float] = field(default_factory=list)  # a second, double precision, all processes together
    flop32: list[float] = field(default_factory=list)  # single precision
    bytes: list[float] = field(default_factory=list)  # a second, read from and written to memory
    disk_write: float = 0.0  # bytes a second, flushed to the disk of the workdir
    disk_read: float = 0.0
    fork: float = 0.0  # seconds, also below: a process that begins and ends
    message: float = 0.0  # to another process and back
    fsync: float = 0.0  # a page that is flushed to the disk
    others: float = 0.0  # cores that other programs used meanwhile


def machine_here() -> str:
    """Name this machine: its host, processor and number of cores."""
    model = platform.processor() or platform.machine()
    with suppress(OSError, StopIteration), open("/proc/cpuinfo", encoding="utf-8") as stream:
        model = next(line.partition(":")[2].strip() for line in stream if line.startswith("model name"))
    return f"{platform.node()}, {model}, {_cores()} cores"


def kept_limits() -> Limits | None:
    """Limits of this machine as they were measured; None if they were not."""
    with suppress(OSError, ValueError, TypeError):
        return Limits(**json.loads(_file(cache_place(FOLDER)).read_text(encoding="utf-8")))
    return None


def measure(tell: Callable[[int, int], object]) -> Limits:
    """Measure the limits of this machine, and keep them; `tell` is told how many measurements are done."""
    set_single_thread()
    cores, began, before = _cores(), time.monotonic(), _of_others()
    processes = sorted({*(2**power for power in range(cores.bit_length()) if 2**power < cores), cores})
    workdir = Path(next(iter(configuration().workdirs.values())))
    together: dict[str, Callable[[], float]] = {
        "flop": lambda: _multiply("f8"),
        "flop32": lambda: _multiply("f4"),
        "bytes": _copy,
    }
    total, done = len(together) * len(processes) + 4, 0

    def measured(value: T) -> T:
        nonlocal done
        done += 1
        tell(done, total)
        return value

    found: dict[str, Any] = {
        name: [measured(_rate(once, number)) for number in processes] for name, once in together.items()
    }
    found["disk_write"], found["disk_read"] = measured(_disk(workdir))
    for name, call in (("fork", _fork), ("message", _message()), ("fsync", _fsync(workdir))):
        found[name] = measured(_median(call))
    found["others"] = max(_of_others() - before, 0.0) / (time.monotonic() - began)
    limits = Limits(machine_here(), time.time(), processes, **found)
    keep(_file(cache_directory(FOLDER)), json.dumps(asdict(limits)))
    return limits


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _of_others() -> float:
    """Processor seconds of all processes but this one and its children, since the system began."""
    with suppress(OSError, ValueError), open("/proc/stat", encoding="ascii") as stream:
        user, nice, system, _, _, *interrupts = map(int, stream.readline().split()[1:8])
        own = sum(os.times()[:4])
        return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK") - own
    return 0.0


def _file(folder: Path) -> Path:
    name = "".join(each if each.isalnum() else "-" for each in machine_here())
    return folder / f"{name}.json"


@cache
def _matrices(dtype: str) -> Any:
    import numpy as np

    return np.full((3, SIDE, SIDE), 0.5, dtype)


@cache
def _rows() -> Any:
    import numpy as np

    return np.ones((2, COPIED // 16))


def _multiply(dtype: str) -> float:
    one, other, product = _matrices(dtype)
    one.dot(other, out=product)
    return 2.0 * SIDE**3


def _copy() -> float:
    one, other = _rows()
    one[:] = other
    return float(2 * one.nbytes)  # read and written


def _rate(once: Callable[[], float], processes: int) -> float:
    """Amount a second of what `once` does in one thread, in some processes that begin together."""
    context = multiprocessing.get_context("fork")
    barrier, rates = context.Barrier(processes), context.SimpleQueue()

    def repeat() -> None:
        once()  # memory is touched, and libraries are awake
        barrier.wait(timeout=PATIENCE)
        began, amount = time.perf_counter(), 0.0
        while (seconds := time.perf_counter() - began) < LEAST:
            amount += once()
        rates.put(amount / seconds)

    started = [context.Process(target=repeat) for _ in range(processes)]
    for each in started:
        each.start()
    for each in started:
        each.join()
    if ends := [each.exitcode for each in started if each.exitcode]:
        hint = "look whether memory is short, then measure again"
        raise TransientError("a process that measures ended early", found=f"exit status {ends[0]}", hint=hint)
    return float(sum(rates.get() for _ in started))


def _disk(folder: Path) -> tuple[float, float]:
    """Bytes a second written to a file and flushed, and read back, as far as it left the system's cache."""
    block = os.urandom(BLOCK)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        began = time.perf_counter()
        for _ in range(ON_DISK // BLOCK):
            file.write(block)
        os.fsync(file.fileno())
        written = time.perf_counter() - began
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.seek(0)
        began = time.perf_counter()
        while file.read(BLOCK):
            pass
        return ON_DISK / written, ON_DISK / (time.perf_counter() - began)


def _median(call: Callable[[], object]) -> float:
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def _fork() -> None:
    if (process := os.fork()) == 0:
        os._exit(0)
    os.waitpid(process, 0)


def _message() -> Callable[[], object]:
    """A call that sends a message to another process and waits for its answer."""
    here, there = multiprocessing.Pipe()
    if os.fork() == 0:
        here.close()
        with suppress(EOFError, OSError):
            while True:
                there.send_bytes(there.recv_bytes())
        os._exit(0)
    there.close()

    def send() -> bytes:
        here.send_bytes(b"?")
        return here.recv_bytes()

    return send


def _fsync(folder: Path) -> Callable[[], object]:
    file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  open while it is measured
    page = os.urandom(PAGE)

    def flush() -> None:
        file.write(page)
        os.fsync(file.fileno())

    return flush
