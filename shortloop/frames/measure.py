"""Having one library measured in a fresh process, and looking at its memory meanwhile."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from shortloop.frames.child import COUNTS, SUMS, VALUES
from shortloop.frames.processes import family, memory
from shortloop.frames.timing import Timed
from shortloop.frames.work import Aggregates, Work
from shortloop.types import FloatArray

__all__ = ["CHILD", "Measured", "environment", "measure"]

CHILD = "shortloop.frames.child"
EVERY = 0.01  # s between looks at memory
ALIVE = 1.0  # s between looks whether the process is there
ENDED = "ended"
SAID = 3  # lines of a failure
THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
OF_LIBRARIES = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass
class Measured:
    """What came of it.

    Parameters
    ----------
    timed : Timed
        Times and memory.
    failed : str
        Why there is no result; empty: there is one.
    values : array, shape (rows,), or None
        Of the transformations that give a column.
    aggregates : Aggregates or None
        Of the other one.
    """

    timed: Timed = field(default_factory=Timed)
    failed: str = ""
    values: FloatArray | None = None
    aggregates: Aggregates | None = None


def measure(
    work: Work,
    module: str,
    transformation: str,
    repeats: int,
    limit: float,
    python: Path | None = None,
) -> Measured:
    """Measure.

    Parameters
    ----------
    work : Work
        The table, and which library.
    module : str
        Of its runner.
    transformation : str
        Which.
    repeats : int
        How often the work is timed, at least.
    limit : float
        Seconds that all of it may take.
    python : Path, optional
        Interpreter of the environment that the library is in; default: this one.

    Returns
    -------
    Measured
        With a reason, if the library fails or takes too long.
    """
    hear, tell = os.pipe()
    asked = json.dumps(
        {
            "work": {**asdict(work), "folder": str(work.folder.absolute())},
            "module": module,
            "transformation": transformation,
            "repeats": repeats,
            "tell": tell,
        }
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "here").mkdir()
        with (folder / "errors").open("wb") as errors, os.fdopen(hear, "rb", buffering=0) as heard:
            try:
                child = subprocess.Popen(
                    [str(python or sys.executable), "-m", CHILD, asked],
                    cwd=folder / "here",
                    env=environment(work.workers, None if python is None else folder),
                    stdin=subprocess.PIPE,
                    stdout=errors,
                    stderr=errors,
                    pass_fds=[tell],
                    start_new_session=True,
                )
            finally:
                os.close(tell)
            try:
                measured = _listen(child, heard.fileno(), limit)
                status = child.returncode
            finally:
                _end(child)
        if not measured.failed:
            _load(measured, folder / "here")
        elif measured.failed == ENDED:
            said = (folder / "errors").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            measured.failed = _why(status, said)
    return measured


def _listen(child: subprocess.Popen[bytes], heard: int, limit: float) -> Measured:
    measured, text, looking = Measured(), b"", False
    until = time.monotonic() + limit
    while True:
        left = until - time.monotonic()
        if left <= 0:
            measured.failed = f"took longer than {limit:g} s"
            return measured
        ended = child.poll() is not None  # forks of it may hold the pipe
        ready, _, _ = select.select([heard], [], [], 0 if ended else min(left, EVERY if looking else ALIVE))
        if ready or ended:
            given = os.read(heard, 65536) if ready else b""
            if not given:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(ALIVE)
                measured.failed = ENDED
                return measured
            *lines, text = (text + given).split(b"\n")
            for each in map(json.loads, lines):
                if "timed" in each:
                    measured.timed, looking = Timed(**each["timed"]), True
                elif "looked" in each:
                    _look(measured.timed, child.pid)  # it may have been too quick
                    looking = False
                elif "failed" in each:
                    measured.failed = ENDED
                    return measured
                elif "done" in each:
                    return measured
        if looking:
            _look(measured.timed, child.pid)


def _look(timed: Timed, pid: int) -> None:
    timed.peak = max(filter(None, (timed.peak, memory(pid))), default=None)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started, those too that left its group."""
    started = family(child.pid)[1:]
    assert child.stdin is not None
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    for each in started:
        with contextlib.suppress(OSError):
            os.kill(each, signal.SIGKILL)
    child.stdin.close()
    child.wait()


def _load(measured: Measured, folder: Path) -> None:
    if (folder / VALUES).exists():
        measured.values = np.load(folder / VALUES)
    else:
        measured.aggregates = Aggregates(np.load(folder / COUNTS), np.load(folder / SUMS))


def _why(status: int | None, said: list[str]) -> str:
    last = " / ".join(line.strip() for line in said[-SAID:])
    if status == -signal.SIGKILL and not last:
        return "was killed: perhaps there was not enough memory"
    return f"failed: {last or f'ended with status {status}'}"


def environment(workers: int, alone: Path | None = None) -> dict[str, str]:
    """Variables of the process that measures.

    Parameters
    ----------
    workers : int
        Threads of libraries that share work out; those of linear algebra, which is not used, are one.
    alone : Path, optional
        Folder to put this package into, for an environment that must see nothing else of this one.

    Returns
    -------
    dict of str to str
    """
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
        **dict.fromkeys(THREADS, "1"),
        **dict.fromkeys(OF_LIBRARIES, str(workers)),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(path)),
    }
