"""A tiny table for libraries of data frames, and runners that go wrong in every way."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shortloop.frames.check import Checked, check_aggregates, check_random, true_aggregates
from shortloop.frames.runners.base import Found, Runner
from shortloop.frames.stages.table_rows import parts_of
from shortloop.frames.table import column_names, part_bytes, rows_of_parts
from shortloop.frames.work import Aggregates, Work, file_name

ROWS, COLUMNS, GROUPS, CHUNK = 1100, 5, 30, 300


def tiny(folder: Path, library: str = "pandas", *, rows: int = ROWS, groups: int = GROUPS) -> Work:
    """A table in a folder, and two workers to work on it."""
    parts = rows_of_parts(rows, CHUNK)
    work = Work(library, folder, parts, column_names(COLUMNS), groups, 2, 7)
    for part, each in enumerate(parts):
        file = folder / file_name(part)
        if not file.exists():
            file.write_bytes(part_bytes(3, part, each, COLUMNS, groups))
    return work


def checked(work: Work, values: np.ndarray | None, aggregates: Aggregates | None) -> Checked:
    """What is found of a result."""
    table = list(parts_of(work))
    if aggregates is not None:
        return check_aggregates(aggregates, true_aggregates(table, work.groups))
    assert values is not None
    return check_random(values, np.concatenate([columns[0] for _, columns in table]))


class Toy(Runner):
    """Does what its library's name says, and no work."""

    def run(self, transformation: str, parts: Sequence[int]) -> Found:
        name = self.work.library
        if name == "raises":
            raise ValueError("no such thing as a column")
        if name == "waits":
            self._leave_behind()
            time.sleep(600)
        if name == "killed":
            os.kill(os.getpid(), 9)
        if name == "exits":
            os._exit(0)
        if name == "prints":
            print('{"done": true}\n' * 1000, flush=True)
        if name == "leaves":
            self._leave_behind()
        if name == "large":
            block = np.ones(25_000_000)  # 200 MB, and touched
            time.sleep(0.1)
            return block[:3]
        if name == "busy":
            until = time.monotonic() + 0.7
            code = f"import time\nwhile time.monotonic() < {until}: pass"
            subprocess.run([sys.executable, "-c", code], check=True)
        return np.zeros(3)

    def _leave_behind(self) -> None:
        """A process that leaves the group, and says who it is."""
        code = "import time; time.sleep(600)"
        left = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        with (self.work.folder / "left").open("a") as file:
            file.write(f"{left.pid}\n")

    def values(self, found: Found) -> np.ndarray:
        return np.asarray(found)

    def aggregates(self, found: Found) -> Aggregates:
        raise NotImplementedError


RUNNER = Toy
