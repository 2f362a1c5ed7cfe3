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


def ended(
    command: Sequence[str | Path], cwd: Path | None = None, **environment: str
) -> CompletedProcess[str]:
    """A program, or options of this Python as ``-c``, that has ended; it may have failed."""
    program = [sys.executable] if str(command[0]).startswith("-") else []
    return subprocess.run(
        [*program, *command],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def line_of(process: Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()
