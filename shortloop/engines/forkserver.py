"""Process beside each worker that forks one process for each job.

A worker of a library is kept for many jobs and has threads; code in it would see what other jobs left there.
This process has one thread, and only imports what jobs import, so its forks are as good as new processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pickle
import select
import shutil
import signal
import socket
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

from shortloop.exax.libraries import are_as_loaded, watch_imports
from shortloop.exax.patches.loading import is_as_loaded, load_from_source, loaded_modules
from shortloop.stages.threads import set_single_thread

load_from_source(anew=True)
watch_imports()
set_single_thread()  # before NumPy is loaded

from shortloop.exax.job_process import serve  # noqa: E402
from shortloop.exax.patches.preload import import_all  # noqa: E402
from shortloop.units.messages import STALE, JobWork  # noqa: E402
from shortloop.units.process_ends import ends_with_this, forked, how_ended  # noqa: E402
from shortloop.units.sandbox import sandboxed  # noqa: E402

LIFE, READY = 0, 1  # standard input, which ends when the worker does, and output
_path: list[str] = []
BACKLOG = 128  # threads of a worker that ask at a time


def serve_worker(address: str) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run ends what it started
    forks: dict[int, int | None] = {}  # processes, with a status where they ended with another than 0
    folder = Path(address).parent  # of this process alone, with all that its forks put there
    tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
    with contextlib.ExitStack() as end, socket.socket(socket.AF_UNIX) as listener:
        end.callback(shutil.rmtree, folder, ignore_errors=True)
        listener.bind(address)
        listener.listen(BACKLOG)
        os.write(READY, b"ready\n")
        while True:
            if LIFE in select.select([LIFE, listener.fileno()], [], [])[0]:
                return 0
            with contextlib.suppress(OSError, EOFError), Connection(listener.accept()[0].detach()) as asking:
                request = pickle.loads(asking.recv_bytes())
                if isinstance(request, int):
                    asking.send_bytes(how_ended(_status(request, forks)).encode())
                elif not _fork(asking, request, forks):
                    return 0


def _status(process: int, forks: dict[int, int | None]) -> int:
    if (status := forks.pop(process, 0)) is not None:
        return status
    os.kill(process, signal.SIGKILL)  # so that it keeps nobody waiting
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _reap(forks: dict[int, int | None]) -> None:
    for process in [each for each, status in forks.items() if status is None]:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended and status:
            forks[process] = os.waitstatus_to_exitcode(status)
        elif ended:
            del forks[process]


def _fork(asking: Connection, work: JobWork, forks: dict[int, int | None]) -> bool:
    """Fork a process for a job; False if another forkserver must do that."""
    if not _path:  # the first job sets the module path
        _path[:] = path = work["path"]
        sys.path[:] = [*path, *(each for each in sys.path if each not in path)]
    is_current = all(map(is_as_loaded, loaded_modules().values())) and are_as_loaded()
    if _path != work["path"] or not is_current:
        asking.send_bytes(STALE)
        return False
    with sandboxed(work.get("mirrored")):
        import_all(work["imports"])
    _reap(forks)
    follow = ends_with_this()

    def serve_job() -> None:
        follow()
        os.dup2(os.open(os.devnull, os.O_RDONLY), LIFE)
        if (mirrored := work.get("mirrored")) is not None:  # its mirror is kept as long as this process runs
            fcntl.flock(os.open(f"{mirrored['data']}.lock", os.O_RDWR), fcntl.LOCK_SH)
        asking.send_bytes(b"%d" % os.getpid())
        serve(asking, work)

    forks[forked(serve_job, (OSError, EOFError))] = None  # as the worker has ended
    return True


if __name__ == "__main__":
    sys.exit(serve_worker(sys.argv[1]))
