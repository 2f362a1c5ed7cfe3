"""Processes that file permissions bind, also where the tests are run by root."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
# One process is quicker than one for each command.
MANY = """
import contextlib, io, json, sys, traceback
from shortloop.cli.entry import main
for command in json.loads(sys.argv[1]):
    sys.argv = ["shortloop", *command]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ending:
            status = ending.code or 0
        except BaseException:
            status = 1
            traceback.print_exc()
    print(json.dumps([status, out.getvalue(), err.getvalue()]))
"""
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


class Said(NamedTuple):
    """What a command said, and its status."""

    status: int
    out: str
    err: str


def shortloop(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command, or with ``-c`` Python code, as an owner who is bound by what the files allow."""
    command = arguments if arguments[0] == "-c" else ("-m", "shortloop", *arguments)
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=_drop if os.geteuid() == 0 else None,
    )


def commands(folder: Path, *wanted: Sequence[str]) -> list[Said]:
    """Several commands, one after the other."""
    done = shortloop(folder, "-c", MANY, json.dumps(wanted))
    assert done.returncode == 0, done.stderr
    return [Said(*json.loads(line)) for line in done.stdout.splitlines()]


@contextmanager
def only_readable(folder: Path) -> Iterator[None]:
    """Nobody may write anything in a folder."""
    modes = {path: path.stat().st_mode for path in [folder, *folder.rglob("*")] if not path.is_symlink()}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """A disk of its own over a folder, if that is allowed here."""
    if subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def read_only_disk(folder: Path) -> Iterator[None]:
    """A folder as on a disk that can only be read."""
    with mounted(folder, "--bind", str(folder)):
        done = subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], capture_output=True)
        if done.returncode != 0:
            pytest.skip("only root can mount a disk")
        yield


def _drop() -> None:
    library = ctypes.CDLL(None)
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            os._exit(125)
