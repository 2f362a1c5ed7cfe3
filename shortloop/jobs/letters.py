"""What is printed where the terminal has no code for a letter: something like it, and no end of the run."""

from __future__ import annotations

import codecs
import contextlib
import sys
from io import TextIOWrapper

__all__ = ["print_any_letter"]

_ALIKE = {"→": "->", "×": "x", "·": "-", "…": "...", "−": "-", "–": "-"}
_NAME = "shortloop"


def print_any_letter() -> None:
    """Have standard output and error take every letter: signs of ours by what looks like them, others as
    ``\\xb5``."""
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
