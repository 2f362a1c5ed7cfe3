"""Record docs/terminal.svg: the commands of README, run in a terminal, as it looks at their end.

Usage: ``python docs/record_terminal.py``, with the development requirements installed.
"""

from __future__ import annotations

import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from fcntl import ioctl
from pathlib import Path

import pandas as pd
import pyte
from rich.console import Console
from rich.text import Text

WIDTH, HEIGHT = 118, 60
FILE = Path(__file__).with_name("terminal.svg")
EDIT = "edit data/panel.parquet  # a value of firm F007"


def main() -> None:
    screen = pyte.Screen(WIDTH, HEIGHT)
    terminal = pyte.ByteStream(screen)
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:
        project = Path(folder) / "my-analysis"
        _run(terminal, Path(folder), "shortloop init my-analysis")
        screen.reset()
        _run(terminal, project, "shortloop run analysis")
        _run(terminal, project, "shortloop run analysis")
        _type(terminal, EDIT)
        _edit(project / "data" / "panel.parquet")
        _run(terminal, project, "shortloop run analysis")
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    rows = [_row(screen, row) for row in range(HEIGHT)]
    console.print(
        Text("\n").join(rows[: max(number for number, row in enumerate(rows, 1) if row.plain.strip())])
    )
    picture = console.export_svg(title="A regression for each of 500 firms, in three specifications")
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)  # no font from elsewhere
    FILE.write_text(picture.replace("Fira Code, monospace", "monospace"), encoding="utf-8")


def _type(terminal: pyte.ByteStream, command: str) -> None:
    terminal.feed(f"\x1b[1m$ {command}\x1b[0m\r\n".encode())


def _run(terminal: pyte.ByteStream, folder: Path, command: str) -> None:
    """A command, and all that it writes into a terminal."""
    _type(terminal, command)
    keyboard, its = pty.openpty()
    ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    words = command.split()
    program = Path(sys.executable).with_name(words[0])
    environment = {**os.environ, "TERM": "xterm-256color"}
    with subprocess.Popen(
        [program, *words[1:]], cwd=folder, env=environment, stdin=its, stdout=its, stderr=its
    ) as running:
        os.close(its)
        while True:
            try:
                written = os.read(keyboard, 4096)
            except OSError:  # nobody holds the other end any more
                break
            terminal.feed(written)
    os.close(keyboard)
    if running.returncode:
        sys.exit(f"{command}: status {running.returncode}")


def _edit(file: Path) -> None:
    panel = pd.read_parquet(file)
    panel.loc[panel["firm"] == "F007", "investment"] += 1
    panel.to_parquet(file)


def _row(screen: pyte.Screen, number: int) -> Text:
    row = Text()
    for column in range(WIDTH):
        cell = screen.buffer[number][column]
        colour = "" if cell.fg == "default" else cell.fg if cell.fg.isalpha() else f"#{cell.fg}"
        row.append(cell.data, f"{'bold ' * cell.bold}{colour}".strip())
    row.rstrip()
    return row


if __name__ == "__main__":
    main()
