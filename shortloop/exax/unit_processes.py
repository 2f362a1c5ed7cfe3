"""Processes for the units of a job that cannot be forked because it has threads.

The process that forks jobs has none. It forks these as well, and each opens the stage itself, as a worker of
an engine does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import secrets
import signal
import socket
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn, cast

from shortloop.exax.forked import let_go
from shortloop.exax.patches.preload import load_client
from shortloop.units.messages import JobWork, UnitsDone
from shortloop.units.process_ends import how_ended
from shortloop.units.queue import Batches

__all__ = ["UnitForks", "computed_in_processes"]

_asked: socket.socket | None = None  # in a job: the process that has forked it
_numbers = itertools.count()


class UnitForks:
    """In the process that forks jobs: where these ask for processes."""

    def __init__(self) -> None:
        global _asked
        self._requests, _asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pipe = self._requests.fileno()
        self._forked: dict[tuple[int, int], int] = {}  # by groups of jobs, and numbers there

    def answer(self) -> None:
        """Fork the process that a job has asked for, into the group of that job; or say how one ended."""
        said, (connection,), _, _ = socket.recv_fds(self._requests, 64, 1)
        group, number = map(int, said.split())
        process = self._forked.pop((group, number), 0)
        if process:
            os.kill(process, signal.SIGKILL)  # it is ending, and must keep nobody waiting
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            os.write(connection, b"%d" % status)
        else:
            self._forked[group, number] = self._fork(group, connection)
        os.close(connection)

    def _fork(self, group: int, connection: int) -> int:
        if not self._forked:  # here, and not in each fork and each job
            import shortloop.exax.job_process  # noqa: F401

            load_client()
        for key, each in [*self._forked.items()]:
            if key[0] != group and os.waitpid(each, os.WNOHANG)[0]:  # of a job that asks no more
                del self._forked[key]
        process = os.fork()
        if not process:
            _serve(group, connection)
        return process


def computed_in_processes(
    work: JobWork,
    costs: Mapping[bytes, float],
    count: int,
    lost: Callable[[bytes, str], object],
) -> Iterator[bytes]:
    """Have units of this job computed in processes of their own."""
    batches = Batches(costs, [*costs], count)
    data = pickle.dumps(work)
    busy: dict[Connection, list[bytes]] = {}
    numbers: dict[Connection, int] = {}
    with contextlib.ExitStack() as end:

        def start() -> Connection:
            number = next(_numbers)
            process = end.enter_context(Connection(_ask(number).detach()))
            numbers[process] = number
            process.send_bytes(data)
            return process

        def hand_out(process: Connection) -> None:
            if batch := batches.next():
                busy[process] = batch
                process.send_bytes(pickle.dumps(batch))

        for _ in range(min(count, len(costs))):
            hand_out(start())
        while busy:
            for process in cast("list[Connection]", wait([*busy])):
                batch = busy.pop(process)
                try:
                    seconds, _ = pickle.loads(process.recv_bytes())
                    done = process.recv_bytes()
                except (EOFError, OSError):
                    given = lost(batch[0], _how_ended(numbers[process])) if len(batch) == 1 else None
                    if given is None:
                        batches.put_back(batch)  # each alone, so that it is known which one it was
                    else:
                        batches.done(batch, 0.0)
                        yield pickle.dumps(_given_up(batch, given))
                    if batches.has_next():
                        hand_out(start())
                    continue
                batches.done(batch, seconds)
                hand_out(process)
                yield done


def _given_up(units: list[bytes], given: Any) -> UnitsDone:
    """What came of a unit whose process ended."""
    return {
        "process": secrets.token_hex(8),
        "number": 0,
        "units": units,
        "values": [given],
        "cpu_seconds": 0.0,
        "facts": None,
        "threads": [],
        "notes": b"",
        "printed": [],
        "failure": None,
    }


def _ask(number: int) -> socket.socket:
    """Ask for a process, or how it ended if it was asked for before; what is connected to the answer."""
    assert _asked is not None, "not a job"
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_asked, [b"%d %d" % (os.getpgid(0), number)], [theirs.fileno()])
    return ours


def _how_ended(number: int) -> str:
    with _ask(number) as answer:
        return how_ended(int(answer.recv(64)))


def _serve(group: int, descriptor: int) -> NoReturn:
    """All of the life of a process."""
    status = 1
    try:
        os.setpgid(0, group)  # it ends with the job
        let_go({0, 1, 2, descriptor})
        connection = Connection(descriptor)
        from shortloop.exax.job_process import serve

        serve(connection, pickle.loads(connection.recv_bytes()))
        status = 0
    except (OSError, EOFError):  # the job has ended
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
