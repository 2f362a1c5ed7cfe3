"""How a text file is written: its letters, what is between values, and the marks in numbers."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any

__all__ = ["encoding_of", "marks_of", "separator_of"]

SEPARATORS = ",;\t|"
OPENED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PIECE = 1 << 20
BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
OTHER = "cp1252"  # of older tables of the West, where nearly all bytes are letters
MARKS = ((",", ""), (",", "."), (",", " "), (".", ","))
"""Decimal and thousands, the plainest first."""


def encoding_of(file: Path) -> str:
    """How the letters of a file are written, as far as its bytes say."""
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with _opened(file) as stream:
            piece = stream.read(PIECE)
            for mark, name in BOMS:
                if piece.startswith(mark):
                    return name
            while piece:
                decoder.decode(piece)
                piece = stream.read(PIECE)
            decoder.decode(b"", final=True)
    except UnicodeError:
        return OTHER
    except (OSError, EOFError, lzma.LZMAError):  # reading it says what is wrong
        pass
    return "utf-8"


def separator_of(file: Path, encoding: str) -> str:
    """What is between the names of columns."""
    try:
        with _opened(file) as stream:
            first = stream.read(PIECE).decode(encoding, errors="replace").lstrip("\ufeff")
    except (OSError, EOFError, lzma.LZMAError):
        first = ""
    line = (first.splitlines() or [""])[0]
    return max(SEPARATORS, key=line.count)


def marks_of(columns: Iterable[Iterable[str]]) -> tuple[str, str] | None:
    """The marks in numbers that were read as texts."""
    for texts in columns:
        each = [text.strip() for text in texts]
        ways = [marks for marks in MARKS if _is_written(each, *marks)]
        if len({decimal for decimal, _ in ways}) == 1:
            return ways[0]
    return None


def _is_written(texts: list[str], decimal: str, thousands: str) -> bool:
    """Whether all are numbers with these marks, and some could not be read without."""
    mark = re.escape(decimal)
    whole = rf"\d+|\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+" if thousands else r"\d+"
    number = re.compile(rf"[-+]?(?:{whole})?(?:{mark}\d*)?(?:[eE][-+]?\d+)?")
    return (
        bool(texts)
        and all(text and number.fullmatch(text) for text in texts)
        and any("," in text or (thousands and thousands in text) for text in texts)
    )


def _opened(file: Path) -> IO[bytes]:
    stream: IO[bytes] = OPENED.get(file.suffix.lower(), open)(file, "rb")
    return stream
