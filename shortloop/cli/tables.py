"""How the commands print: tables that a pipe can read, and quantities with units; and how they read these."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from shortloop.errors import InputError
from shortloop.jobs.explain.phrases import counted
from shortloop.text import one_line, printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["ago", "amount", "counted", "duration", "parse_age", "parse_size", "print_lines", "print_table"]

SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    title: str | None = None,
    styles: Sequence[str] | None = None,
) -> None:
    """Print a table; nothing wraps where the output is no terminal.

    Parameters
    ----------
    columns : sequence of str
        Their names.
    rows : iterable of sequence of str
        Cells, each in one line: brackets mean nothing, and what a terminal would obey is made visible.
    right : collection of str
        Columns of numbers.
    title : str, optional
        Printed above.
    styles : sequence of str, optional
        Style of each row.
    """
    rows = [tuple(map(one_line, row)) for row in rows]
    columns = [one_line(name) for name in columns]
    if not sys.stdout.isatty():
        widths = [max(len(row[place]) for row in [columns, *rows]) for place in range(len(columns))]
        if title is not None:
            print_lines(title)
        for row in [columns, *rows]:
            cells = [
                cell.rjust(width) if name in right else cell.ljust(width)
                for name, cell, width in zip(columns, row, widths)
            ]
            print_lines("  ".join(cells).rstrip())
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, title=title, title_justify="left")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for place, row in enumerate(rows):
        table.add_row(*(Text(cell) for cell in row), style=styles[place] if styles else None)
    _console().print(table)


def print_lines(*lines: str) -> None:
    """Print lines; brackets mean nothing, and what a terminal would obey is made visible.

    Parameters
    ----------
    *lines : str
    """
    for line in lines:
        print(printable(line))


def duration(seconds: float) -> str:
    """Seconds in words.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str
        As ``"0.3 s"``, ``"42 s"``, ``"12 min"``, ``"3.4 h"``.
    """
    if seconds < 99.5:
        return f"{seconds:.1f} s" if 0 < seconds < 9.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"


def amount(size: float) -> str:
    """Bytes in words.

    Parameters
    ----------
    size : float
        Bytes.

    Returns
    -------
    str
        As ``"812 B"``, ``"3.4 MB"``.
    """
    if size < 1000:
        return f"{size:.0f} B"
    unit = next(unit for unit, scale in SIZES.items() if size < 999.5 * scale or unit == "TB")
    value = size / SIZES[unit]
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


def ago(seconds: float) -> str:
    """An age in words.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str
        As ``"3 h"``, ``"12 d"``.
    """
    unit = next(
        unit for unit, scale in reversed(AGES.items()) if unit != "w" and (seconds >= scale or unit == "s")
    )
    return f"{seconds / AGES[unit]:.0f} {'min' if unit == 'm' else unit}"


def parse_size(text: str) -> int:
    """Bytes from words.

    Parameters
    ----------
    text : str
        As ``"20GB"`` or ``"1.5 GB"``.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If it says no size.
    """
    return int(_parse(text, SIZES, "a size such as 500MB or 20GB"))


def parse_age(text: str) -> float:
    """Seconds from words.

    Parameters
    ----------
    text : str
        As ``"30d"``, ``"12h"``, ``"2w"``.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If it says no age.
    """
    return _parse(text, AGES, "an age such as 12h, 30d or 2w (s, m, h, d or w)")


def _parse(text: str, units: dict[str, int], expected: str) -> float:
    scales = {unit.casefold(): scale for unit, scale in units.items()}
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*", text)
    scale = None if match is None else scales.get(match[2].casefold())
    if match is None or scale is None:
        raise InputError("that cannot be understood", found=text, expected=expected)
    return float(match[1]) * scale


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False)
