"""Processes of Python beside that of a test, which know the package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import PIPE, CompletedProcess, Popen

from source_tree import ROOT


def python(
    code: str, *arguments: str, cwd: Path | None = None, environment: Mapping[str, str] | None = None
) -> Popen[str]:
    """A process that runs this code, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        text=True,
        start_new_session=True,
    )


def finished(
    command: Sequence[str | Path], cwd: Path | None, env: Mapping[str, str] | None = None, timeout: float = 60
) -> CompletedProcess[str]:
    """A program that has ended; it may have failed."""
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout, check=False
    )


def ended(
    command: Sequence[str | Path], cwd: Path | None = None, **environment: str
) -> CompletedProcess[str]:
    """The same of a program, or options of this Python as ``-c``, with more in its environment."""
    program = [sys.executable] if str(command[0]).startswith("-") else []
    return finished([*program, *command], cwd, {**os.environ, "PYTHONPATH": str(ROOT), **environment})


def line_of(process: Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
