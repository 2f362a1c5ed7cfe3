"""Printed output of units, with an index of the bytes of each.

The file is one of those in which exax keeps the output of slices, so that exax's own commands show it as
well. Silent units cost one system call.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortloop.store.process_notes import WARNED, is_first_warning

if TYPE_CHECKING:
    from shortloop.stages.stage import Stage

FOLDER, ENDING = "OUTPUT", ".units"
FLAGS = os.O_CREAT | os.O_APPEND | os.O_WRONLY  # to append: programs of the job write as well
_libc = ctypes.CDLL(None)


class PrintedUnit(NamedTuple):
    unit: str
    begin: int
    end: int


class UnitOutput:
    """Context in which output of this process, a slice by number, goes into a file of its job."""

    def __init__(self, number: int, stage: Stage) -> None:
        self._stage, self._file = stage, os.path.abspath(f"{FOLDER}/{number}")
        self._current: int | None = None

    def __enter__(self) -> UnitOutput:
        flush_output()
        self._descriptor = _opened(self._file)
        self._place = os.lseek(self._descriptor, 0, os.SEEK_END)
        self._before = [os.dup(output) for output in (1, 2)]
        for output in (1, 2):
            os.dup2(self._descriptor, output)
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._note()
        is_empty = not os.lseek(self._descriptor, 0, os.SEEK_END)
        if is_empty:
            os.unlink(self._file)
        elif error is not None:  # what exax prints of it belongs to the rest
            return
        for output, before in zip((1, 2), self._before, strict=True):
            os.dup2(before, output)
            os.close(before)
        os.close(self._descriptor)

    def each(self, units: Iterable[int]) -> Iterator[int]:
        for unit in units:
            self._current = unit
            yield unit
            self._note()

    def _note(self) -> None:
        """Index the output since the last unit as that of the current one, which is done or has failed."""
        unit, self._current = self._current, None
        flush_output()
        place = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        if place != self._place and unit is not None:
            _add_to_index(self._file, self._stage, [(unit, self._place, place)])
        self._place = place


def flush_output() -> None:
    """Flush the output of this process, including that of libraries in C."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # whatever a stage has put in its place
            stream.flush()
    _libc.fflush(None)


def keep_printed(
    stage: Stage, numbers: Mapping[bytes, int], printed: Iterable[tuple[bytes | None, str]]
) -> None:
    """Keep the output of another process: of units, and beside them; no warning that the job has shown."""
    file, found = os.path.abspath(f"{FOLDER}/0"), []

    def shown(warned: re.Match[str]) -> str:
        return warned[2] if is_first_warning(warned[1], os.path.dirname(file)) else ""

    with open(_opened(file), "wb") as stream:
        place = stream.seek(0, os.SEEK_END)
        for unit, text in printed:
            begin = place
            place += stream.write(WARNED.sub(shown, text).encode("utf-8", "replace"))
            if unit is not None and unit in numbers and place > begin:
                found.append((numbers[unit], begin, place))
    _add_to_index(file, stage, found)


def printed_units(file: Path) -> list[PrintedUnit]:
    found = []
    with contextlib.suppress(FileNotFoundError), open(f"{file}{ENDING}", encoding="utf-8") as lines:
        for line in lines:
            with contextlib.suppress(ValueError, TypeError):  # the last may be cut short
                found.append(PrintedUnit(*json.loads(line)))
    return found


def _opened(file: str) -> int:
    os.makedirs(os.path.dirname(file), exist_ok=True)  # exax makes it for each job that it runs itself
    return os.open(file, FLAGS, 0o666)


def _add_to_index(file: str, stage: Stage, found: Iterable[tuple[int, int, int]]) -> None:
    names = stage.unit_names()
    named = ((str(unit if names is None else names[unit]), *place) for unit, *place in found)
    text = "".join(f"{json.dumps(each)}\n" for each in named)
    with open(f"{file}{ENDING}", "a", encoding="utf-8") as stream:
        stream.write(text)
