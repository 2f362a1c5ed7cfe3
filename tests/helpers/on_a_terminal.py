"""Code that runs on a terminal of some width."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

from jobs_project import ROOT


def on_a_terminal(code: str, columns: int) -> str:
    """Everything that a process writes to a terminal, as bytes come."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    return command_on_a_terminal([sys.executable, "-c", code], Path.cwd(), given, columns)


def command_on_a_terminal(
    command: Sequence[str | Path],
    folder: Path,
    environment: Mapping[str, str],
    columns: int = 0,
    may_fail: bool = False,
) -> str:
    """The same of a command in a folder; without columns, the terminal does not say how wide it is."""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30 * bool(columns), columns, 0, 0))
        os.chdir(folder)
        os.execve(command[0], [*map(str, command)], dict(environment))
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        said += part
    os.close(terminal)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert may_fail or status == 0, said.decode()
    return said.decode()
