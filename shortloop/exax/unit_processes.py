"""Describe jobs for workers, and compute units in processes if a fork would lack threads.

The process that forks jobs has no threads. It forks these as well, and each opens the stage itself, as a
worker of an engine does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import re
import secrets
import signal
import socket
import sys
import threading
import time
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from shortloop.base.plain import Plain
from shortloop.exax.forked import close_inherited
from shortloop.exax.patches.preload import imports_of, load_client
from shortloop.keys.code import Code
from shortloop.keys.file_state import states_of_files
from shortloop.keys.hashing import digest
from shortloop.keys.installed import environment
from shortloop.keys.methods import module_of
from shortloop.keys.own_code import is_own
from shortloop.project.project import FINISHED, job_directory, project_directory
from shortloop.stages.task import Task
from shortloop.units.machine_facts import surroundings_here
from shortloop.units.messages import JobWork, UnitsDone
from shortloop.units.process_ends import forked, how_ended
from shortloop.units.queue import Batches

TASKS = Path("/proc/self/task")
STACK = 8192  # bytes from where a thread waits up to where it has started
TRIES, MOMENT = 20, 0.001  # s in which a thread that runs may come to wait
# Allocators and Arrow start their threads anew in a fork; that of Polars deletes what it has put on disk.
RESTARTED = ("jemalloc_bg_thd", "libarrow", "polars-ooc")
# Of Python and the system: they do not tell whose thread it is.
COMMON = re.compile(r"ld-linux|libc[.-]|libgcc|libpthread|libpython|libstdc\+\+|python|\[")
MAPPED = re.compile(r"^(\w+)-(\w+) ..x. \S+ \S+ \S+ +(?:.*/)?(.+)$", re.MULTILINE)  # code, and its file

_asked: Any = None  # in a job: the connection to the process that has forked it
_numbers = itertools.count()


def code_digest(code: Code) -> str:
    """Hash all code that a job runs, with the libraries as they are installed."""
    files: list[Plain] = [[file, *state] for file, state in (*code.watched, *environment())]
    return digest([code.code, files])


def states_above(task: Task) -> list[Plain]:
    """Return states that tell jobs from later ones with their ids, if somebody deletes their folders."""
    jobs = [*task.jobs.values(), task.before, *task.datasets.values()]
    names = [name for each in jobs for name in (each if isinstance(each, list) else [each]) if name]
    folders = [name if os.path.isabs(name) else str(job_directory(name.partition("/")[0])) for name in names]
    return [[*state] for state in states_of_files([f"{folder}/{FINISHED}" for folder in folders])]


def work_of_job(task: Task, method: Path, code: Code, modules: list[str], slices: int) -> JobWork:
    scripts = os.path.dirname(sys.executable)  # on the path when Python runs one
    path = [each for each in dict.fromkeys(sys.path) if os.path.isdir(each) and each != scripts]
    return {
        "project": str(project_directory()),
        "path": [each for each in path if is_own(f"{each}/module.py")],  # as of jobs and runs alike
        "slices": slices,
        "surroundings": surroundings_here(),
        "imports": imports_of(task.name, modules),
        "closure": sorted(code.modules),
        "code": code_digest(code),
        "above": states_above(task),
        "package": module_of(method).rpartition(".")[0],
        "task": {name: each for name, each in vars(task).items() if name not in ("where", "open_dataset")},
    }


def folders_of(jobs: Any) -> Any:
    """Return the folders of jobs as exax gives them: of one, of each in a list, or None."""
    return [*map(folders_of, jobs)] if isinstance(jobs, list) else str(jobs.path) if jobs else None


def names_of(datasets: Any) -> Any:
    """Return the names of datasets as exax gives them, likewise."""
    if isinstance(datasets, list):
        return [names_of(each) for each in datasets]
    return f"{datasets.job}/{datasets.name}" if datasets else None  # exax leaves out the name "default"


class UnitForks:
    """Answers requests of jobs for processes in the process that forks jobs."""

    def __init__(self) -> None:
        global _asked
        self._requests, _asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.pipe = self._requests.fileno()
        self._forked: dict[tuple[int, int], int] = {}  # by groups of jobs, and numbers there

    def answer(self) -> None:
        """Fork a process into the group of a job, or tell the job how one ended."""
        request, (connection,), _, _ = socket.recv_fds(self._requests, 64, 1)
        group, number = map(int, request.split())
        if process := self._forked.pop((group, number), 0):
            os.kill(process, signal.SIGKILL)  # it is ending, and must keep nobody waiting
            os.write(connection, b"%d" % os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
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
        return forked(lambda: _serve(group, connection), (OSError, EOFError))  # as the job has ended


def computed_in_processes(
    work: JobWork,
    costs: Mapping[bytes, float],
    count: int,
    lost: Callable[[bytes, str], Mapping[str, object] | bytes | None],
) -> Iterator[bytes]:
    batches = Batches(costs, count)
    sent = pickle.dumps(work)
    busy: dict[Connection, list[bytes]] = {}
    numbers: dict[Connection, int] = {}
    with contextlib.ExitStack() as end:

        def start() -> Connection:
            number = next(_numbers)
            process = end.enter_context(Connection(_ask(number).detach()))
            numbers[process] = number
            process.send_bytes(sent)
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
                    data = process.recv_bytes()
                except (EOFError, OSError):
                    with _ask(numbers[process]) as answer:
                        how = how_ended(int(answer.recv(64)))
                    given = lost(batch[0], how) if len(batch) == 1 else None
                    if given is None:
                        batches.put_back(batch)  # each alone, so that it is known which one it was
                    else:
                        batches.done(batch, 0.0)
                        name = secrets.token_hex(8)
                        values = [pickle.dumps(given)]
                        done: UnitsDone = {"process": name, "units": batch, "values": values}
                        yield pickle.dumps(done)
                    if batches.has_next():
                        hand_out(start())
                    continue
                batches.done(batch, seconds)
                hand_out(process)
                yield data


def _ask(number: int) -> socket.socket:
    """Ask for a process, or how it ended if it was asked for before; return the connection to the answer."""
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(_asked, [b"%d %d" % (os.getpgid(0), number)], [theirs.fileno()])
    return ours


def _serve(group: int, descriptor: int) -> None:
    os.setpgid(0, group)  # it ends with the job
    close_inherited({0, 1, 2, descriptor})
    connection = Connection(descriptor)
    from shortloop.exax.job_process import serve

    serve(connection, pickle.loads(connection.recv_bytes()))


def threads_lost_by_fork() -> list[str]:
    """List the owners of threads that a fork would lack and wait for forever."""
    if not (tasks := set(map(int, os.listdir(TASKS))) - {threading.get_native_id()}):
        return []
    python = {each.native_id: each.name for each in threading.enumerate()}
    lost = {f"the thread {python[task]}" for task in tasks & python.keys()}
    others = [task for task in tasks - python.keys() if not _name(task).startswith(RESTARTED)]
    code = _code_of_libraries() if others else []
    lost |= {_owner(task, code) for task in others}
    return sorted(each for each in lost if not each.startswith(RESTARTED))


def _code_of_libraries() -> list[tuple[int, int, str]]:
    """List where code lies in memory, and whose it is."""
    lines = MAPPED.findall(Path("/proc/self/maps").read_text(errors="replace"))
    code = ((int(first, 16), int(end, 16), name) for first, end, name in lines)
    return sorted(each for each in code if not COMMON.match(each[-1]))


def _owner(task: int, code: list[tuple[int, int, str]]) -> str:
    """Return the library that started a thread, by the outermost return address on its stack."""
    try:
        state = TASKS / f"{task}/syscall"
        for _ in range(TRIES):
            if (call := state.read_text(encoding="ascii")) != "running\n":
                break
            time.sleep(MOMENT)
        stack = int(call.split()[-2], 16)
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(stack)
            words = array("Q", memory.read(STACK))
    except (OSError, ValueError, IndexError):  # it still runs, or has ended
        return _name(task)
    for word in reversed(words):
        if code and word >= code[0][0]:  # few are, and this is fast
            _, end, name = code[bisect_right(code, word, key=itemgetter(0)) - 1]
            if word < end:
                return name
    return _name(task)


def _name(task: int) -> str:
    try:
        return (TASKS / f"{task}/comm").read_text(errors="replace").strip()
    except OSError:
        return RESTARTED[0]  # it has ended
