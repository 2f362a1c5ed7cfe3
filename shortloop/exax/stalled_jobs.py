"""Detect jobs that use no processor time, and end those that wait forever."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from shortloop.keys.own_code import PACKAGE, ROOT
from shortloop.units.messages import engine_of_run

__all__ = ["BEGUN", "Process", "Silence", "answer_where", "note_units"]

BEGUN = ".begun"
"""File in the folder of a job: the units that its only process computes."""
WHERE, UNITS = "shortloop-where", "shortloop-units"  # files in memory that processes of a job have
ASK = signal.SIGRTMIN + 7
SAY_AFTER, END_AFTER = 60.0, 8.0  # s
HARDLY = 5  # ticks of a processor: who looks at a clock now and then computes nothing
FUTEX, PRIVATE = {"202", "98"}, 128  # of x86-64 and ARM; futex(2) between threads of one process
ANSWER = 2.0  # s that an answer may take
NAMES, LINES = 400, 6  # bytes, and lines of an answer
NOT_SHOWN = (f"{ROOT}/{PACKAGE}/", "/site-packages/accelerator/", "<frozen runpy>")
HINT = (
    "  what to do:   start threads and pools in the function of the stage or of its units, "
    "not where a module is imported"
)

_units = (0, -1)  # a process, and its file


class Process(NamedTuple):
    """A process, as /proc/PID/stat has it."""

    parent: int
    state: str
    ticks: int
    threads: int


def answer_where() -> None:
    """Let this process of a job, and its forks, say where they are when they are asked, and as they crash."""
    faulthandler.enable(2, all_threads=False)
    where = os.memfd_create(WHERE)
    try:
        faulthandler.register(ASK, where, all_threads=False)
    except (OSError, RuntimeError):
        os.close(where)


def note_units(units: Sequence[int], name: Callable[[int], str]) -> str:
    """Note which units this process computes from now on."""
    global _units
    if _units[0] != os.getpid():
        _units = os.getpid(), os.memfd_create(UNITS)
    text = " … ".join(dict.fromkeys(map(name, (*units[:1], *units[-1:]))))
    os.pwrite(_units[1], text.encode("utf-8", "replace")[:NAMES].ljust(NAMES), 0)
    return text


class Silence:
    """What a run says of its jobs while these use no processor."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._ticks = -HARDLY - 1
        self._say_at = SAY_AFTER

    def lines(self, processes: Mapping[int, Process]) -> Iterator[str]:
        """What is to be said of the processes of the server and of an engine on this machine; those that can
        only wait for ever are ended."""
        of_jobs = {each for each in processes if _file(each, WHERE)}
        below = {each for each, process in processes.items() if process.parent in of_jobs}
        ticks = sum(processes[each].ticks for each in of_jobs | below)
        busy = [each for each in sorted(of_jobs) if any(_noted(each))]  # with units
        is_elsewhere = engine_of_run() is not None and not busy  # as far as can be seen from here
        if abs(ticks - self._ticks) > HARDLY or is_elsewhere:
            self._since, self._ticks, self._say_at = time.monotonic(), ticks, SAY_AFTER
            return
        silent = time.monotonic() - self._since
        if silent < END_AFTER:
            return
        # Else those of a job that have started no others.
        waiting = busy or sorted(of_jobs - {processes[each].parent for each in of_jobs})
        stuck = [each for each in waiting if _waits_for_ever(each, processes[each])]
        if silent < self._say_at and not stuck:
            return
        while silent >= self._say_at:
            self._say_at *= 2
        for each in waiting:
            units = "".join(f" at {names}" for names in _noted(each))
            yield f"process {each} has used no processor for {silent:.0f} s; it waits{units}:"
            yield from _lines_of(each)
        for each in stuck:
            yield f"process {each} is ended: it waits for another thread, and has none"
            yield HINT
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


def _waits_for_ever(number: int, process: Process) -> bool:
    """True if it waits for a thread of its own, without an end, and has no other."""
    with contextlib.suppress(OSError, ValueError):
        call, _, how, _, timeout, *_ = Path(f"/proc/{number}/syscall").read_text(encoding="ascii").split()
        return process.threads == 1 and call in FUTEX and int(how, 16) & PRIVATE > 0 == int(timeout, 16)
    return False


def _noted(number: int) -> list[str]:
    """The units that a process computes."""
    file = _file(number, UNITS)
    with contextlib.suppress(OSError):
        return [Path(file).read_bytes().decode("utf-8", "replace").strip()] if file else []
    return []


def _lines_of(number: int) -> list[str]:
    """The innermost lines that a process is at, as it says itself."""
    with contextlib.suppress(OSError), open(_file(number, WHERE) or os.devnull, "rb") as answers:
        answers.seek(0, os.SEEK_END)
        os.kill(number, ASK)
        deadline, said = time.monotonic() + ANSWER, b""
        while not said and time.monotonic() < deadline:
            time.sleep(0.1)  # it is written within a moment, but not at once
            said = answers.read()
        lines = said.decode("utf-8", "replace").splitlines()[1:]
        return [f"  {each}" for each in lines if not any(map(each.__contains__, NOT_SHOWN))][:LINES]
    return []


def _file(number: int, name: str) -> str | None:
    """A file in memory that a process has; None if it has none of this name."""
    with contextlib.suppress(OSError):
        for each in os.listdir(folder := f"/proc/{number}/fd"):
            if os.readlink(f"{folder}/{each}").startswith(f"/memfd:{name}"):
                return f"{folder}/{each}"
    return None
