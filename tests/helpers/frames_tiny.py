"""A tiny table for libraries of data frames, and runners that go wrong in every way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from shortloop.frames.runners import Run
from shortloop.frames.table import (
    Checked,
    check_aggregates,
    check_random,
    column_names,
    part_bytes,
    parts_of,
    rows_of_parts,
    true_aggregates,
)
from shortloop.frames.transformations import NEW, Aggregates, Work, file_name

ROWS, COLUMNS, GROUPS, CHUNK = 1100, 5, 30, 300


def tiny(folder: Path, library: str = "pandas", *, rows: int = ROWS, groups: int = GROUPS) -> Work:
    """A table in a folder, and two workers to work on it."""
    parts = rows_of_parts(rows, CHUNK)
    work = Work(library, str(folder), parts, column_names(COLUMNS), groups, 2, 7)
    for part, each in enumerate(parts):
        file = folder / file_name(part)
        if not file.exists():
            file.write_bytes(part_bytes(3, part, each, COLUMNS, groups))
    return work


def checked(work: Work, result: np.ndarray | Aggregates | None) -> Checked:
    """What is found of a result."""
    table = list(parts_of(work))
    if isinstance(result, Aggregates):
        return check_aggregates(result, true_aggregates(table, work.groups))
    assert result is not None
    return check_random(result, np.concatenate([columns[0] for _, columns in table]))


@contextmanager
def toy(work: Work) -> Iterator[Run]:
    """Does what its library's name says, and no work."""

    def run(transformation: str, parts: Sequence[int]) -> Mapping[str, Any]:
        name = work.library
        if name == "raises":
            raise ValueError("no such thing as a column")
        if name in ("waits", "leaves"):
            leave_behind(Path(work.folder))
        if name == "waits":
            time.sleep(600)
        if name == "killed":
            os.kill(os.getpid(), 9)
        if name == "exits":
            os._exit(0)
        if name == "prints":
            print("done\n" * 1000, flush=True)
        if name == "large":
            block = np.ones(25_000_000)  # 200 MB, and touched
            time.sleep(0.1)
            return {NEW: block[:3]}
        if name == "busy":
            until = time.monotonic() + 0.7
            code = f"import time\nwhile time.monotonic() < {until}: pass"
            subprocess.run([sys.executable, "-c", code], check=True)
        return {NEW: np.zeros(3)}

    yield run


def leave_behind(folder: Path) -> None:
    """Start a process that leaves the group, and say who it is."""
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with (folder / "left").open("a") as file:
        file.write(f"{left.pid}\n")
