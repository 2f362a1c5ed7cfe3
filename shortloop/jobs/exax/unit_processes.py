"""Processes for the units of a job that cannot be forked itself, because it has threads.

The process that forks jobs has none. It forks these as well, and each opens the stage itself, as a worker of
an engine does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from typing import NoReturn, cast

from shortloop.engines.batches import Batches
from shortloop.engines.messages import JobWork
from shortloop.jobs.exax.forked import let_go

__all__ = ["UnitForks", "computed_in_processes"]

_asked: socket.socket | None = None  # in a job: the process that has forked it


class UnitForks:
    """In the process that forks jobs: where these ask for processes."""

    def __init__(self) -> None:
        global _asked
        self._requests, _asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pipe = self._requests.fileno()
        self._forked: list[int] = []

    def fork(self) -> None:
        """Fork the process that a job has asked for, into the group of that job."""
        if not self._forked:  # here, and not in each fork and each job
            import shortloop.engines.job_process  # noqa: F401
            from shortloop.jobs.exax.method import load_client

            load_client()
        self._forked = [each for each in self._forked if not os.waitpid(each, os.WNOHANG)[0]]
        group, given, _, _ = socket.recv_fds(self._requests, 64, 1)
        process = os.fork()
        if not process:
            _serve(int(group), *given)
        self._forked.append(process)
        os.close(*given)


def computed_in_processes(
    work: JobWork,
    costs: Mapping[bytes, float],
    count: int,
    lost: Callable[[list[bytes]], Exception],
) -> Iterator[bytes]:
    """Have units of this job computed in processes of their own.

    Parameters
    ----------
    work : JobWork
        The job.
    costs : mapping of bytes to float
        Units to be computed, and what each costs.
    count : int
        How many processes.
    lost : callable
        What to raise if the process that computes some units ends.

    Yields
    ------
    bytes
        An encoded `UnitsDone`.
    """
    batches = Batches(costs, [*costs], count)
    data = pickle.dumps(work)
    busy: dict[Connection, list[bytes]] = {}
    with contextlib.ExitStack() as end:

        def hand_out(process: Connection) -> None:
            if batch := batches.next():
                busy[process] = batch
                process.send_bytes(pickle.dumps(batch))

        for _ in range(min(count, len(costs))):
            process = end.enter_context(_fork())
            process.send_bytes(data)
            hand_out(process)
        while busy:
            for process in cast("list[Connection]", wait([*busy])):
                batch = busy.pop(process)
                try:
                    seconds, _, _ = pickle.loads(process.recv_bytes())
                    done = process.recv_bytes()
                except (EOFError, OSError):
                    raise lost(batch) from None
                batches.done(batch, seconds)
                hand_out(process)
                yield done


def _fork() -> Connection:
    assert _asked is not None, "not a job"
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_asked, [b"%d" % os.getpgid(0)], [theirs.fileno()])
    return Connection(ours.detach())


def _serve(group: int, descriptor: int) -> NoReturn:
    """All of the life of a process."""
    status = 1
    try:
        os.setpgid(0, group)  # it ends with the job
        let_go({0, 1, 2, descriptor})
        connection = Connection(descriptor)
        from shortloop.engines.job_process import serve

        serve(connection, pickle.loads(connection.recv_bytes()))
        status = 0
    except (OSError, EOFError):  # the job has ended
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
