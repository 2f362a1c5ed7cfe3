"""Commands, and code of `python -c`, as forks of one process that has imported what they import.

A command spends most of its time on imports. The process is started by the first command of a test process,
and ends with it. A project sees no difference between a fork and a new Python, except in variables that
Python and libraries read as they start: if these are not the usual ones, the command is a new process.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping, Sequence
from pathlib import Path

READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "NUMBA_", "OMP_", "OPENBLAS_", "MKL_")
LIBRARIES = ("accelerator.build", "accelerator.shell", "blake3", "numpy", "pydantic", "rich.console", "typer")
OWN = (
    "cli.entry",
    "cli.plan",
    "cli.run",
    "cli.lookup.show",
    "cli.lookup.why",
    "exax.forked",
    "exax.server",
    "run.executor",
)


def usual(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_AT_START)}


@functools.cache
def _origin() -> tuple[subprocess.Popen[str], dict[str, str]]:
    """The process that forks, and its variables."""
    dropped = ("_NUM_THREADS", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.endswith(dropped)}
    process = subprocess.Popen(
        [sys.executable, __file__],
        cwd="/",
        env={**kept, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},  # threads do not survive a fork
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return process, usual(kept)


def can_fork(environment: Mapping[str, str]) -> bool:
    return usual(environment) == _origin()[1]


def run(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str], timeout: float
) -> tuple[int, str, str]:
    """Run a command as `subprocess.run` does; its status and what it says."""
    process, _ = _origin()
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.ExitStack() as stack:
        out, err = (
            stack.enter_context(tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace"))
            for _ in range(2)
        )
        asked = {
            "command": [str(word) for word in command],
            "folder": str(folder),
            "environment": dict(environment),
            "files": [out.name, err.name],
        }
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], timeout)[0]:
            os.killpg(process.pid, signal.SIGKILL)
            _origin.cache_clear()
            raise subprocess.TimeoutExpired(list(map(str, command)), timeout, out.read(), err.read())
        return int(process.stdout.readline()), out.read(), err.read()


def _serve() -> None:
    """Fork for each line that is asked for; this returns in the forks, which have become the command."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return _become(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os._exit(0)


def _become(command: list[str], folder: str, environment: dict[str, str], files: list[str]) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in enumerate(files, 1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_APPEND), number)
    os.closerange(3, 100)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if command[1:2] == ["-c"]:
        sys.argv[:], sys.path[0] = command[1:2] + command[3:], ""
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(command[2], vars(sys.modules["__main__"]))
        sys.exit()
    sys.argv[:], sys.path[0] = command, str(Path(command[0]).parent)
    sys.modules["__main__"].__file__ = command[0]
    if Path(command[0]).name == "ax":  # it imports the package when a build script does
        for name in [name for name in sys.modules if name.partition(".")[0] == "shortloop"]:
            del sys.modules[name]


if __name__ == "__main__":
    for library in (*LIBRARIES, *(f"shortloop.{name}" for name in OWN)):
        importlib.import_module(library)
    gc.freeze()  # a fork that looks for garbage copies all of it
    _serve()
    if Path(sys.argv[0]).name == "ax":
        from accelerator.shell import main as ax

        sys.exit(ax())
    from shortloop.__main__ import main as shortloop

    shortloop()
