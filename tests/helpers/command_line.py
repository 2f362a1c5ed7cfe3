"""The command as a user types it: in a process of its own, or in a fork of this one, which has it loaded."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NoReturn

from python_process import finished

from shortloop.__main__ import main
from shortloop.keys.methods import forget_methods

ROOT = Path(__file__).resolve().parents[2]


def shortloop(
    folder: Path, *arguments: str, library: Path | str = ROOT, columns: int = 200
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "STUDY"}
    alone = {**kept, "PYTHONPATH": str(library), "COLUMNS": str(columns)}
    return finished([sys.executable, "-m", "shortloop", *arguments], folder, alone)


PROJECT = ("build_scripts", "dev", "methods")
"""Packages of a project."""


def forked(folder: Path, *arguments: str, columns: int = 200) -> subprocess.CompletedProcess[str]:
    """The same in a fork of this process: it need not import again what takes seconds."""
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            _command(folder, arguments, columns)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, status, out.read(), err.read())


def _command(folder: Path, arguments: tuple[str, ...], columns: int) -> NoReturn:
    """What the fork does, to its end."""
    status: object = 1
    try:
        sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(number, "w"), "utf-8") for number in (1, 2))
        os.chdir(folder)
        for name in [name for name in sys.modules if name.partition(".")[0] in PROJECT]:
            del sys.modules[name]  # of another project, that another test was in
        importlib.invalidate_caches()
        forget_methods()
        os.environ.pop("STUDY", None)
        os.environ["COLUMNS"] = str(columns)
        sys.argv = ["shortloop", *arguments]
        sys.modules["__main__"].__package__ = None  # else it is called pytest
        main()
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def assert_one_message(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("shortloop: ")
    assert done.stderr.count("shortloop: ") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
