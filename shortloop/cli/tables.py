"""Print tables and quantities with units, and parse sizes and ages."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import zip_longest

from shortloop.base.errors import InputError
from shortloop.base.terminal import display_width, padded, table_lines, wrapped
from shortloop.base.text import counted, one_line, printable

__all__ = [
    "ago",
    "amount",
    "counted",
    "duration",
    "parse_age",
    "parse_size",
    "print_facts",
    "print_lines",
    "print_table",
    "terminal_columns",
]

SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
STYLES = {"bold": "\x1b[1m", "dim": "\x1b[2m", "red": "\x1b[31m"}
AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    below: Sequence[str] = (),
    wrap: str = "",
    styles: Sequence[str] = (),
) -> None:
    """Print a table as `table_lines` lays it out: in the terminal's width, or a line for each row elsewhere.

    Cells are printed in one line, with control characters made visible. `styles` are those of the rows.
    """
    cells = [tuple(map(one_line, row)) for row in rows]
    lines = table_lines([*map(one_line, columns)], cells, right, terminal_columns(), below, wrap)
    for row, style in zip_longest(lines, ("", *styles), fillvalue=""):
        for line in row:
            print(styled(line, style))


def print_lines(*lines: str, style: str = "") -> None:
    """Print lines with control characters made visible, wrapped in a terminal."""
    width = terminal_columns()
    for line in printable("\n".join(lines)).split("\n") if lines else ():
        for part in [line] if width is None else wrapped(line.expandtabs(), width):
            print(styled(part, style))
    sys.stdout.flush()


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names and what they are, in two columns; in a terminal, wrapped in the second one."""
    width = terminal_columns()
    first = max((display_width(name) for name, _ in facts), default=0)
    first = first if width is None else min(first, width // 4)
    for name, value in facts:
        line = f"{padded(one_line(name), first)}  {one_line(value)}"
        print("\n".join([line] if width is None else wrapped(line, width, " " * (first + 2))))


def styled(line: str, style: str) -> str:
    """A line in a style of the terminal, if there is one that knows styles."""
    plain = not style or not sys.stdout.isatty() or "NO_COLOR" in os.environ
    return line if plain or os.environ.get("TERM") == "dumb" else f"{STYLES[style]}{line}\x1b[0m"


def terminal_columns() -> int | None:
    """Columns of the terminal that standard output goes to; None if it goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if 0 < seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


def amount(size: float) -> str:
    """Bytes in words."""
    if size < 1000:
        return f"{size:.0f} B"
    unit = next(unit for unit, scale in SIZES.items() if size < 999.5 * scale or unit == "TB")
    value = size / SIZES[unit]
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


def ago(seconds: float) -> str:
    """An age in words."""
    unit = next(
        unit for unit, scale in reversed(AGES.items()) if unit != "w" and (seconds >= scale or unit == "s")
    )
    return f"{seconds / AGES[unit]:.0f} {'min' if unit == 'm' else unit}"


def parse_size(text: str) -> int:
    """Bytes from words."""
    return int(_parse(text, SIZES, "a size such as 500MB or 20GB"))


def parse_age(text: str) -> float:
    """Seconds from words."""
    return _parse(text, AGES, "an age such as 12h, 30d or 2w (s, m, h, d or w)")


def _parse(text: str, units: dict[str, int], expected: str) -> float:
    scales = {unit.casefold(): scale for unit, scale in units.items()}
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*", text)
    scale = None if match is None else scales.get(match[2].casefold())
    if match is None or scale is None:
        raise InputError("invalid value", found=text, expected=expected)
    return float(match[1]) * scale
