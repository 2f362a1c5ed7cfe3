"""Check that the exax server's process can answer before waiting for it."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import shorten
from typing import TextIO

from shortloop.base.errors import InputError
from shortloop.base.text import one_line
from shortloop.exax.stalled_jobs import Process, Silence
from shortloop.project.project import configuration, project_directory
from shortloop.store.setup import slices_configured
from shortloop.units.messages import engine_of_run

__all__ = [
    "PATIENCE",
    "answers",
    "ask",
    "nobody_answers",
    "peer",
    "server_process",
    "slices_now",
    "socket_file",
    "watched",
]

PATIENCE = 60.0  # seconds that a server which is still starting may need
WORTH_A_WORD = 2.0
LOOK_EVERY = 0.5


_is_alone = False


@contextmanager
def nobody_answers() -> Iterator[None]:
    """Within the block, no server is asked, as if none was there: it is only starting."""
    global _is_alone
    before, _is_alone = _is_alone, True
    try:
        yield
    finally:
        _is_alone = before


def socket_file() -> Path:
    """Where this project's exax server listens."""
    return project_directory() / str(configuration().listen)


def answers() -> bool:
    """Whether this project's exax server answers; one that is still starting is waited for."""
    return ask("status") is not None


def ask(what: str) -> bytes | None:
    """What the exax server replies."""
    if _is_alone:
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(LOOK_EVERY)
        try:
            probe.connect(str(socket_file()))
        except PermissionError:
            raise _of_another() from None
        except BlockingIOError:  # more wait for it than the system lets
            raise _silent("many processes wait for it already") from None
        except OSError:
            return None
        process, _ = peer(probe)
        try:
            probe.sendall(f"GET /{what} HTTP/1.0\r\n\r\n".encode())
            reply = _received(probe, process)
        except OSError:  # it ended
            return None
    return reply.partition(b"\r\n\r\n")[2] if reply else None


def slices_now() -> int:
    """The number of slices of the server that runs, else of one that would be started."""
    reply = ask("workspace_info")
    return slices_configured() if reply is None else int(json.loads(reply)["slices"])


def peer(connection: socket.socket) -> tuple[int, int]:
    """The process at the other end of a Unix socket."""
    process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return process, user


def server_process() -> int | None:
    """The server that listens here, whether it answers or not."""
    if _is_alone:
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(LOOK_EVERY)
        try:
            probe.connect(str(socket_file()))
        except OSError:
            return None
        return peer(probe)[0]


@contextmanager
def watched() -> Iterator[None]:
    """Say so when the server, or a process of its jobs, is stopped while the block waits for it."""
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
    """All that a server replies; its socket is there before it is ready."""
    reply = b""
    started = time.monotonic()
    told = False
    while True:
        if _process(process).state == "T":
            raise InputError("the exax server is stopped", found=_named(process), hint=_way_out(process))
        try:
            part = probe.recv(65536)
        except TimeoutError:
            waited = time.monotonic() - started
            if waited > PATIENCE:
                raise _silent(f"{_named(process)}, for {waited:.0f} s") from None
            if waited > WORTH_A_WORD and not told:
                told = True
                said = f"waiting for the exax server, {_named(process)}, to answer"
                print(said, file=sys.stderr, flush=True)
            continue
        if not part:
            return reply
        reply += part


def _watch(done: threading.Event, stream: TextIO) -> None:
    server = server_process()
    said: set[int] = set()
    silence = Silence()
    while server and not done.wait(2 * WORTH_A_WORD):
        engine = engine_of_run()
        of_server = _below(server)
        processes = of_server if engine is None else {**of_server, **_below(engine["process"])}
        stopped = {number for number, each in processes.items() if each.state == "T"}
        for process in sorted(stopped - said):
            whose = "exax server" if process in of_server else "engine"
            what = "the exax server" if process == server else f"a process of the {whose}"
            print(f"{what} is stopped, and this run waits: {_named(process)}", file=stream, flush=True)
            print(f"  what to do:   {_way_out(process)}", file=stream, flush=True)
        for process in sorted(said - stopped):
            print(f"process {process} goes on, or has ended", file=stream, flush=True)
        said = stopped
        for line in silence.lines({} if stopped else processes):
            print(one_line(line), file=stream, flush=True)


def _below(server: int) -> dict[int, Process]:
    """The server, or an engine, and the processes below it."""
    states = {int(name): _process(int(name)) for name in os.listdir("/proc") if name.isdecimal()}
    found = {}
    for process, each in states.items():
        above = process
        while above in states and above != server:
            above = states[above].parent
        if above == server:
            found[process] = each
    return found


def _process(process: int) -> Process:
    """What /proc/PID/stat says after the name, which may have brackets."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:  # it ended
        return Process(0, "", 0, 0)
    return Process(int(fields[1]), fields[0].decode(), int(fields[11]) + int(fields[12]), int(fields[17]))


def _named(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        words = ""
    command = shorten(words, 120, placeholder=" …")
    return f"process {process} ({command})" if command else f"process {process}"


def _way_out(process: int) -> str:
    return f"let it go on with `kill -CONT {process}`, or end it with `kill -KILL {process}` and run again"


def _silent(found: str) -> InputError:
    return InputError(
        "the exax server does not answer",
        file=socket_file(),
        found=found,
        hint="end that process with `kill -KILL` and run again: finished jobs are kept",
    )


def _of_another() -> InputError:
    return InputError(
        "the exax server of this project belongs to another user",
        file=socket_file(),
        hint="work on a copy of the project that is yours: whoever asks a server can run anything",
    )
