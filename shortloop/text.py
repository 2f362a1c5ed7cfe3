"""Text that others wrote, made fit to be shown.

A name in a recording may hold an escape sequence, which a terminal obeys: it clears the screen, hides lines
or changes what is read. Nothing of that kind is shown as it is.
"""

from __future__ import annotations

import re

__all__ = ["one_line", "printable"]

# Control characters but newline and tab; marks that turn the direction of writing; what ends a line in
# some programs only; halves of characters, which is how Python reads a file name that is no UTF-8.
_UNFIT = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
_IN_TEXT = re.compile(_UNFIT)
_IN_LINE = re.compile(rf"{_UNFIT}|[\t\n]")


def printable(text: object) -> str:
    """Text in which every character is seen.

    Parameters
    ----------
    text : object
        Whatever is to be shown.

    Returns
    -------
    str
        With ``\\x1b`` in place of an escape character, and the like; what was made so stays as it is.
        Newlines and tabs are kept.
    """
    return _shown(str(text), _IN_TEXT)


def one_line(text: object) -> str:
    """The same, in one line: newlines and tabs are made visible too.

    Parameters
    ----------
    text : object
        Whatever is to be shown.

    Returns
    -------
    str
    """
    return _shown(str(text), _IN_LINE)


def _shown(text: str, unfit: re.Pattern[str]) -> str:
    return text if text.isprintable() else unfit.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
