"""Output of commands: tables, quantities with units, progress, or one JSON document; sizes and ages."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any, TextIO

from shortloop.base.errors import InputError
from shortloop.base.terminal import table_lines, wrapped
from shortloop.base.text import SIZES, one_line, printable

STYLES = {"bold": "\x1b[1m", "dim": "\x1b[2m", "red": "\x1b[31m"}
AGES = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
JSON = "--json"
_streams: list[TextIO] = []
_printed: list[bool] = []


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    below: Sequence[str] = (),
    wrap: str = "",
    styles: Sequence[str] = (),
) -> None:
    """Print a table, in the terminal's width if there is one; `styles` are those of the rows."""
    cells = [tuple(map(one_line, row)) for row in rows]
    lines = table_lines([*map(one_line, columns)], cells, right, _terminal_columns(), below, wrap)
    for row, style in zip_longest(lines, ("", *styles), fillvalue=""):
        for line in row:
            print(_styled(line, style))


def print_lines(*lines: str, style: str = "") -> None:
    """Print lines with control characters made visible, wrapped in a terminal."""
    width = _terminal_columns()
    for line in printable("\n".join(lines)).split("\n") if lines else ():
        for part in [line] if width is None else wrapped(line.expandtabs(), width):
            print(_styled(part, style))
    sys.stdout.flush()


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns, the second wrapped in a terminal."""
    cells = [(one_line(name), one_line(value)) for name, value in facts]
    for row in table_lines(("", "value"), cells, width=_terminal_columns(), wrap="value")[1:]:
        print("\n".join(row))


def _styled(line: str, style: str) -> str:
    plain = not style or not sys.stdout.isatty() or "NO_COLOR" in os.environ
    return line if plain or os.environ.get("TERM") == "dumb" else f"{STYLES[style]}{line}\x1b[0m"


def _terminal_columns() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def parse_size(text: str) -> int:
    return int(_parse(text, SIZES, "a size such as 500MB or 20GB"))


def parse_age(text: str) -> float:
    return _parse(text, AGES, "an age such as 12h, 30d or 2w (s, m, h, d or w)")


def _parse(text: str, units: dict[str, int], expected: str) -> float:
    scales = {unit.casefold(): scale for unit, scale in units.items()}
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*", text)
    scale = None if match is None else scales.get(match[2].casefold())
    if match is None or scale is None:
        raise InputError("invalid value", found=text, expected=expected)
    return float(match[1]) * scale


def check_file(file: Path | None, what: str, endings: Sequence[str]) -> None:
    """Refuse a file that cannot be written, if one is named, before anything takes its time."""
    if file is not None and not (file.suffix in endings and file.parent.is_dir()):
        expected = f"a name that ends in {' or '.join(endings)}, in a folder that exists"
        raise InputError(f"a {what} cannot be written there", file=file, expected=expected)


def asks_for_json() -> bool:
    options = sys.argv[1:]
    return JSON in options[: options.index("--") if "--" in options else None]


def reserve_output() -> None:
    """Keep standard output for the document: other prints go to standard error."""
    sys.stdout.flush()
    _streams.append(os.fdopen(os.dup(1), "w", encoding="ascii"))
    os.dup2(2, 1)


def print_json(**document: object) -> None:
    _printed.append(True)
    print(json.dumps(_plain(document), indent=2), file=_streams[-1] if _streams else sys.stdout, flush=True)


def is_printed() -> bool:
    return bool(_printed)


def error_fields(error: InputError) -> dict[str, object]:
    names = ("problem", "file", "field", "found", "expected", "hint", "where", "message")
    return {name: getattr(error, name) for name in names}


def moment(seconds: float | None) -> str | None:
    """Seconds since 1970 as date and time with the offset from UTC; None if unknown."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat() if seconds else None


def _plain(value: Any) -> Any:
    """A value as JSON has it; numbers that are not finite are null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):  # of NumPy
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
