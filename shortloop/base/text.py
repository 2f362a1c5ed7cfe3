"""Escape text for display, and substitute characters the terminal cannot encode.

A name in a recording may hold an escape sequence, which a terminal obeys: it clears the screen or hides
lines. None is shown as it is.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import sys
from collections.abc import Sequence
from io import TextIOWrapper

# Control characters but newline and tab; marks that turn the direction of writing; what ends a line in
# some programs only; halves of characters, which is how Python reads a file name that is no UTF-8.
SIZES = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNFIT = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_IN_TEXT = re.compile(_UNFIT)
_IN_LINE = re.compile(rf"{_UNFIT}|[\t\n]")
_ALIKE = {"→": "->", "×": "x", "·": "-", "…": "...", "−": "-", "–": "-"}
_NAME = "shortloop"
LONG = 44  # characters of a value in one line


def printable(text: object) -> str:
    """Escape invisible characters."""
    return _IN_TEXT.sub(_escape, str(text))


def one_line(text: object) -> str:
    """Escape invisible characters, newlines and tabs."""
    return _IN_LINE.sub(_escape, str(text))


def amount(size: float) -> str:
    if size < 1000:
        return f"{size:.0f} B"
    unit = next(unit for unit, scale in SIZES.items() if size < 999.5 * scale or unit == "TB")
    value = size / SIZES[unit]
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


def duration(seconds: float) -> str:
    """Seconds with a unit that suits them."""
    if seconds < 99.5:
        return f"{seconds:.1f} s" if 0 < seconds < 9.95 else f"{seconds:.0f} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 99.5 * 3600 else f"{seconds / 86_400:.0f} d"


def listed(items: Sequence[str]) -> str:
    """Join items in a sentence."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def counted(number: int, what: str) -> str:
    """Number and noun."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def short(text: str, most: int = LONG) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def short_list(names: Sequence[str], most: int = 2, separator: str = ", ") -> str:
    """List the first names, and count the others."""
    more = len(names) - most
    return separator.join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def substitute_unencodable() -> None:
    """Let stdout and stderr substitute characters they cannot encode: similar ones, else ``\\xb5``."""
    codecs.register_error(_NAME, _alike)
    # exax has put an object of its own before each, in `fh`.
    for stream in (sys.stdout, sys.stderr):
        text = getattr(stream, "fh", stream)
        if isinstance(text, TextIOWrapper):
            # A file has become exax's pipe on the way, which has no position to tell; that is asked last.
            with contextlib.suppress(OSError):
                text.reconfigure(errors=_NAME)


def _alike(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] in _ALIKE:
        return _ALIKE[error.object[error.start]], error.start + 1
    return codecs.backslashreplace_errors(error)
