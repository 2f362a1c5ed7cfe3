"""Ask the exax server, and watch that its processes go on.

Processes of jobs say which units they compute, and where they are when they are asked. Those that can only
wait forever are ended.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import shorten
from typing import TextIO

from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.keys.own_code import PACKAGE, ROOT
from shortloop.project.project import configuration, project_directory
from shortloop.store.setup import slices_configured
from shortloop.units.messages import engine_of_run
from shortloop.units.process_ends import Process, process_of, processes

PATIENCE = 60.0  # seconds that a server which is still starting may need
WORTH_A_WORD = 2.0
LOOK_EVERY = 0.5
BEGUN = ".begun"  # file in the folder of a job: the units that its only process computes
WHERE, UNITS = "shortloop-where", "shortloop-units"  # files in memory that processes of a job have
ASK = signal.SIGRTMIN + 7
SAY_AFTER, END_AFTER = 60.0, 8.0  # s
HARDLY = 5  # ticks of a processor: who looks at a clock now and then computes nothing
FUTEX, PRIVATE = {"202", "98"}, 128  # of x86-64 and ARM; futex(2) between threads of one process
ANSWER = 2.0  # s that an answer may take
NAMES, LINES = 400, 6  # bytes, and lines of an answer
NOT_SHOWN = (f"{ROOT}/{PACKAGE}/", "/site-packages/accelerator/", "<frozen runpy>")
OWN_COPY = "use your own copy of the project: anyone who can reach a server can run any code"
HINT = (
    "  what to do:   start threads and pools in the function of the stage or of its units, "
    "not where a module is imported"
)

_units = (0, -1)  # a process, and its file
_is_alone = False


@contextmanager
def nobody_answers() -> Iterator[None]:
    """Ask no server within the block, because it is only starting."""
    global _is_alone
    _is_alone = True
    try:
        yield
    finally:
        _is_alone = False


def socket_file() -> Path:
    return project_directory() / str(configuration().listen)


def answers() -> bool:
    """True if this project's exax server answers; wait for one that is still starting."""
    return ask("status") is not None


def ask(what: str) -> bytes | None:
    """Return the reply of the exax server; None if there is no server."""
    try:
        with _connection() as probe:
            probe.sendall(f"GET /{what} HTTP/1.0\r\n\r\n".encode())
            reply = _received(probe, peer(probe)[0])
    except PermissionError:
        problem = "the exax server of this project belongs to another user"
        raise InputError(problem, file=socket_file(), hint=OWN_COPY) from None
    except BlockingIOError:  # more wait for it than the system lets
        raise _silent("many processes wait for it already") from None
    except OSError:  # there is none, or it ended
        return None
    return reply.partition(b"\r\n\r\n")[2] if reply else None


def is_idle() -> bool | None:
    """True if the server builds no job now; None if there is no server, or it is only starting."""
    reply = ask("status")
    return None if reply is None else bool(json.loads(reply)["idle"])


@contextmanager
def _connection() -> Iterator[socket.socket]:
    """Connect to the server; raise OSError if there is none."""
    if _is_alone:
        raise ConnectionRefusedError
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(LOOK_EVERY)
        probe.connect(str(socket_file()))
        yield probe


def slices_now() -> int:
    """Return the number of slices of the running server, else of one that would be started."""
    reply = ask("workspace_info")
    return slices_configured() if reply is None else int(json.loads(reply)["slices"])


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a Unix socket."""
    process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return process, user


def server_process() -> int | None:
    """Return the process of the server that listens here, whether it answers or not."""
    with suppress(OSError), _connection() as probe:
        return peer(probe)[0]
    return None


@contextmanager
def watched() -> Iterator[None]:
    """Report a server, or a process of its jobs, that stops or stalls while the block waits for it."""
    done = threading.Event()
    # What standard error is now: it is put away while exax is asked for a job.
    watcher = threading.Thread(target=_watch, args=(done, sys.stderr), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _received(probe: socket.socket, process: int) -> bytes:
    """Receive the reply of a server, whose socket is there before it is ready."""
    reply = b""
    started, told = time.monotonic(), False
    while True:
        if process_of(process).state == "T":
            raise InputError("the exax server is stopped", found=_named(process), hint=_way_out(process))
        try:
            part = probe.recv(65536)
        except TimeoutError:
            waited = time.monotonic() - started
            if waited > PATIENCE:
                raise _silent(f"{_named(process)}, for {waited:.0f} s") from None
            if waited > WORTH_A_WORD and not told:
                told = True
                waits = f"waiting for the exax server, {_named(process)}, to answer"
                print(waits, file=sys.stderr, flush=True)
            continue
        if not part:
            return reply
        reply += part


def _watch(done: threading.Event, stream: TextIO) -> None:
    server = server_process()
    reported: set[int] = set()
    stalls = StallDetector()
    while server and not done.wait(2 * WORTH_A_WORD):
        engine = engine_of_run()
        of_server = _below(server)
        processes = of_server if engine is None else {**of_server, **_below(engine["process"])}
        stopped = {number for number, each in processes.items() if each.state == "T"}
        for process in sorted(stopped - reported):
            whose = "exax server" if process in of_server else "engine"
            what = "the exax server" if process == server else f"a process of the {whose}"
            print(f"{what} is stopped, and this run waits: {_named(process)}", file=stream, flush=True)
            print(f"  what to do:   {_way_out(process)}", file=stream, flush=True)
        for process in sorted(reported - stopped):
            print(f"process {process} goes on, or has ended", file=stream, flush=True)
        reported = stopped
        for line in stalls.lines({} if stopped else processes):
            print(one_line(line), file=stream, flush=True)


def _below(server: int) -> dict[int, Process]:
    states = {each: process_of(each) for each in processes()}
    found = {}
    for process, each in states.items():
        above = process
        while above in states and above != server:
            above = states[above].parent
        if above == server:
            found[process] = each
    return found


def _named(process: int) -> str:
    with suppress(OSError):
        words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        if command := shorten(words, 120, placeholder=" …"):
            return f"process {process} ({command})"
    return f"process {process}"


def _way_out(process: int) -> str:
    return f"let it go on with `kill -CONT {process}`, or end it with `kill -KILL {process}` and run again"


def _silent(found: str) -> InputError:
    hint = "end that process with `kill -KILL` and run again: finished jobs are kept"
    return InputError("the exax server does not answer", file=socket_file(), found=found, hint=hint)


def enable_tracebacks() -> None:
    """Let this process of a job, and its forks, say where they are when they are asked or crash."""
    faulthandler.enable(2, all_threads=False)
    where = os.memfd_create(WHERE)
    try:
        faulthandler.register(ASK, where, all_threads=False)
    except (OSError, RuntimeError):
        os.close(where)


def note_units(units: Sequence[int], name: Callable[[int], str]) -> str:
    """Note which units this process computes from now on; return their names."""
    global _units
    if _units[0] != os.getpid():
        _units = os.getpid(), os.memfd_create(UNITS)
    text = " … ".join(dict.fromkeys(map(name, (*units[:1], *units[-1:]))))
    os.pwrite(_units[1], text.encode("utf-8", "replace")[:NAMES].ljust(NAMES), 0)
    return text


class StallDetector:
    """Watches for jobs of a run that use no processor time."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._ticks = -HARDLY - 1
        self._say_at = SAY_AFTER

    def lines(self, processes: Mapping[int, Process]) -> Iterator[str]:
        """Report stalled processes of the server and an engine here; end those that can only wait forever."""
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
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


def _waits_for_ever(number: int, process: Process) -> bool:
    """True if a process waits without a timeout for another of its threads, and has none."""
    with suppress(OSError, ValueError):
        call, _, how, _, timeout, *_ = Path(f"/proc/{number}/syscall").read_text(encoding="ascii").split()
        return process.threads == 1 and call in FUTEX and int(how, 16) & PRIVATE > 0 == int(timeout, 16)
    return False


def _noted(number: int) -> list[str]:
    file = _file(number, UNITS)
    with suppress(OSError):
        return [Path(file).read_bytes().decode("utf-8", "replace").strip()] if file else []
    return []


def _lines_of(number: int) -> list[str]:
    with suppress(OSError), open(_file(number, WHERE) or os.devnull, "rb") as answers:
        answers.seek(0, os.SEEK_END)
        os.kill(number, ASK)
        deadline, answer = time.monotonic() + ANSWER, b""
        while not answer and time.monotonic() < deadline:
            time.sleep(0.1)  # it is written within a moment, but not at once
            answer = answers.read()
        lines = answer.decode("utf-8", "replace").splitlines()[1:]
        return [f"  {each}" for each in lines if not any(map(each.__contains__, NOT_SHOWN))][:LINES]
    return []


def _file(number: int, name: str) -> str | None:
    with suppress(OSError):
        for each in os.listdir(folder := f"/proc/{number}/fd"):
            if os.readlink(f"{folder}/{each}").startswith(f"/memfd:{name}"):
                return f"{folder}/{each}"
    return None
