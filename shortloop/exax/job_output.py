"""Output that a job has printed so far, with the unit of each line."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from shortloop.exax.live_output import OF_EXAX, shown_line
from shortloop.units.process_ends import processes
from shortloop.units.unit_output import PrintedUnit, printed_units


def lines_of_output(file: Path, unit: str | None) -> Iterator[tuple[str | None, str]]:
    """Each line of a file with its unit; only those of one unit if it is named."""
    with contextlib.suppress(FileNotFoundError), file.open("rb") as stream:
        for of, begin, end in _pieces(printed_units(file)):
            if unit is None or of == unit:
                stream.seek(begin)
                text = stream.read(-1 if end is None else end - begin).removesuffix(b"\n")
                for line in text.split(b"\n") if text or end is not None else ():
                    if line != OF_EXAX:
                        yield of, shown_line(line)


def _pieces(units: list[PrintedUnit]) -> Iterator[tuple[str | None, int, int | None]]:
    """Unit, begin and end of all parts of a file; None is the end of the file."""
    place = 0
    for unit, begin, end in units:
        if begin > place:
            yield None, place, begin
        yield unit, begin, end
        place = end
    yield None, place, None


def is_running(folder: Path) -> bool:
    """True if a process has the job's folder as working directory, as all of exax's do."""
    return os.path.realpath(folder) in working_folders()


def working_folders() -> set[str]:
    """Working directories of all processes, as far as this user may see them."""
    found = set()
    for process in processes():
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            found.add(os.readlink(f"/proc/{process}/cwd"))
    return found
