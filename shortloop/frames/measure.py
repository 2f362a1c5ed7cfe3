"""Measuring a library in a fresh process: nothing has run in it before, and nothing outlives it.

Libraries print what they like, so the process says what it finds through a pipe of its own.
"""

from __future__ import annotations

import os
import pickle
import pkgutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

from shortloop.frames.table import result_of
from shortloop.frames.timing import Measured, Timed, family, memory, repeat_for, time_repeats
from shortloop.frames.work import Work
from shortloop.stages.threads import VARIABLES

__all__ = ["environment", "measure"]

MODULE = "shortloop.frames.measure"
EVERY = 0.01  # s between looks at memory
ALIVE = 1.0  # s between looks whether the process is there
ENDED = "ended"
SAID = 3  # lines of a failure
RESULT = "result"
THREADS = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
"""Variables with the threads of libraries; those of BLAS are 1."""


def measure(
    work: Work, runner: str, transformation: str, repeats: int, limit: float, python: Path | None = None
) -> Measured:
    """Measure a runner, given as module:function, for at most `limit` seconds, with a Python of its own."""
    heard, told = Pipe()
    with tempfile.TemporaryDirectory() as name, heard:
        folder, here = Path(name), Path(name) / "here"
        here.mkdir()
        with told, (folder / "errors").open("wb") as errors:
            child = subprocess.Popen(
                [str(python or sys.executable), "-m", MODULE, str(told.fileno())],
                cwd=here,
                env=environment(work.workers, None if python is None else folder),
                stdin=subprocess.PIPE,
                stdout=errors,
                stderr=errors,
                pass_fds=[told.fileno()],
                start_new_session=True,
            )
        try:
            with suppress(BrokenPipeError):
                asked = replace(work, folder=os.path.abspath(work.folder)), runner, transformation, repeats
                heard.send(asked)
            measured = _listen(child, heard, limit)
            status = child.returncode
        finally:
            _end(child)
        if not measured.failed:
            measured.result = pickle.loads((here / RESULT).read_bytes())
        elif measured.failed == ENDED:
            said = (folder / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            measured.failed = _why(status, said)
    return measured


def environment(workers: int, alone: Path | None = None) -> dict[str, str]:
    """Variables of the process that measures; with a folder, it sees this package and no other of ours."""
    package = Path(__file__).parents[1]
    path = [str(package.parent), *(each for each in sys.path if each)]
    if alone is not None:
        (alone / "path").mkdir()
        (alone / "path" / package.name).symlink_to(package)
        path = [str(alone / "path")]
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    return {
        **kept,
        **dict.fromkeys(VARIABLES, "1"),
        **dict.fromkeys(THREADS, str(workers)),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
    }


def _listen(child: subprocess.Popen[bytes], heard: Connection, limit: float) -> Measured:
    """Hear what the process finds, and look at its memory meanwhile."""
    measured, looking = Measured(), False
    until = time.monotonic() + limit
    try:
        while (left := until - time.monotonic()) > 0:
            if heard.poll(min(left, EVERY if looking else ALIVE)):
                said = heard.recv()
                if said == "done":
                    return measured
                if said == "failed":
                    measured.failed = ENDED
                    return measured
                if isinstance(said, Timed):
                    measured.timed, looking = said, True
                else:  # it was looked at for long enough, but may have been too quick
                    _look(measured.timed, child.pid)
                    looking = False
            elif child.poll() is not None:  # forks of it may hold the pipe
                raise EOFError
            if looking:
                _look(measured.timed, child.pid)
    except (EOFError, ConnectionResetError):
        with suppress(subprocess.TimeoutExpired):
            child.wait(ALIVE)
        measured.failed = ENDED
        return measured
    measured.failed = f"took longer than {limit:g} s"
    return measured


def _look(timed: Timed, pid: int) -> None:
    timed.peak = max(filter(None, (timed.peak, memory(pid))), default=None)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started, also what left its group."""
    started = family(child.pid)[1:]
    assert child.stdin is not None
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    for each in started:
        with suppress(OSError):
            os.kill(each, signal.SIGKILL)
    child.stdin.close()
    child.wait()


def _why(status: int | None, said: list[str]) -> str:
    last = " / ".join(line.strip() for line in said[-SAID:])
    if status == -signal.SIGKILL and not last:
        return "was killed: perhaps there was not enough memory"
    return f"failed: {last or f'ended with status {status}'}"


def _main(descriptor: int) -> NoReturn:
    """Measure in this process, leave the result in the current folder, and wait to be ended."""
    began = time.perf_counter()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    told = Connection(descriptor)
    try:
        work, runner, transformation, repeats = told.recv()
        timed, parts = Timed(), range(len(work.rows))
        with pkgutil.resolve_name(runner)(work) as run:
            run(transformation, parts[: work.workers])
            timed.start = time.perf_counter() - began
            time_repeats(timed, lambda: run(transformation, parts), repeats)
            told.send(timed)
            found = repeat_for(lambda: run(transformation, parts))
            told.send("looked")
            Path(RESULT).write_bytes(pickle.dumps(result_of(found, transformation, work)))
        told.send("done")
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        told.send("failed")
    while True:  # what it started is found as long as it is there
        time.sleep(600)


def _end_with_parent() -> None:
    """End, with all that this process started, when the one that asked ends: it holds the standard input."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
