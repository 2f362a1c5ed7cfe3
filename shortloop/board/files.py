"""Files of a job and its output: opened below its folder alone, through no link."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, NamedTuple

from shortloop.base.text import amount, one_line
from shortloop.exax.live_output import OF_EXAX, parts_of_output, shown_line
from shortloop.store.integrity import LOGS
from shortloop.units.unit_output import printed_units

TAIL = 200_000  # bytes of a file of output that are read at a time
LONGEST = 2_000  # characters of a line without an end


class Log(NamedTuple):
    """Output of a job since some position."""

    text: str
    open: str  # last lines that have no end yet
    position: str  # where it ends


def open_inside(folder: Path, name: str) -> BinaryIO:
    """Open a regular file of a job by its path from the job's folder."""
    parts = name.split("/")
    if not all(parts) or "\0" in name or {".", ".."}.intersection(parts):
        raise FileNotFoundError(name)
    above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in (folder.name, *parts[:-1]):
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
            os.close(above)
            above = below
        # A pipe would keep its reader waiting.
        found = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=above)
    finally:
        os.close(above)
    stream = os.fdopen(found, "rb")
    if not S_ISREG(os.fstat(found).st_mode):
        stream.close()
        raise FileNotFoundError(name)
    return stream


def read_log(folder: Path, position: str = "") -> Log:
    """Read what a job has printed since a position; of much, the end."""
    seen = {name: int(place) for name, place in re.findall(r"(\w+):(\d{1,18})(?:,|$)", position)}
    lines: list[str] = []
    unfinished: list[str] = []
    for file in parts_of_output(folder):
        with suppress(OSError), open_inside(folder, f"{LOGS}/{file.name}") as stream:
            size = os.fstat(stream.fileno()).st_size
            begin = min(seen.get(file.name, 0), size)
            is_cut = size - begin > TAIL
            if is_cut:
                lines.append(f"… {amount(size - begin - TAIL)} left out: shortloop logs {folder.name}")
                begin = size - TAIL
            stream.seek(begin)
            data = stream.read(size - begin)
            *whole, rest = data.split(b"\n")
            lines += _with_units(file, begin, whole, is_cut)
            seen[file.name] = begin + len(data) - len(rest)
            unfinished += [shown_line(rest)[-LONGEST:]] if rest else []
    place = ",".join(f"{name}:{at}" for name, at in seen.items())
    return Log("".join(f"{line}\n" for line in lines), "\n".join(unfinished), place)


def _with_units(file: Path, begin: int, raw: list[bytes], is_cut: bool) -> list[str]:
    """Show lines that begin at a place in a file, each after the name of its unit; the first may be cut."""
    units = printed_units(file) if raw else []
    begins = [each.begin for each in units]
    shown = []
    for number, line in enumerate(raw):
        unit = units[bisect_right(begins, begin) - 1] if units else None
        begin += len(line) + 1
        if line != OF_EXAX and not (is_cut and number == 0):
            is_of_unit = unit is not None and unit.begin < begin <= unit.end
            shown.append(
                f"{one_line(unit.unit)} | {shown_line(line)}" if unit and is_of_unit else shown_line(line)
            )
    return shown
