"""Lay out text for the terminal: wrap, shorten and tabulate."""

from __future__ import annotations

import re
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import zip_longest
from typing import TextIO

from shortloop.base.text import duration

GAP = "  "
BELOW = "    "  # indent of text that did not fit into its line
ROOM = 24  # columns that a text is given beside others, at least; else it goes below them
LEAST = 6  # columns that a name is shortened to
HANGING = "  "
SHOW_AFTER = 2.0  # s
DRAW_EVERY, LINE_EVERY = 0.2, 10.0  # s, in a terminal and without one


def display_width(text: str) -> int:
    """Columns that a text takes in a terminal: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int, right: bool = False) -> str:
    space = " " * (width - display_width(text))
    return space + text if right else text + space


def shortened(text: str, width: int) -> str:
    """Shorten a text in the middle, because names differ at their ends."""
    if display_width(text) <= width:
        return text
    end = _head(text[::-1], (width - 1) // 2)[::-1]
    while end and not _width(end[0]):  # a combining character without the letter before it
        end = end[1:]
    return f"{_head(text, width - 1 - display_width(end))}…{end}"


def _head(text: str, width: int) -> str:
    """Longest prefix that fits."""
    if text.isascii():
        return text[: max(0, width)]
    taken = 0
    for place, character in enumerate(text):
        taken += _width(character)
        if taken > width:
            return text[:place]
    return text


def wrapped(text: str, width: int, indent: str | None = None) -> list[str]:
    """Wrap a line between words, or within a long one; `indent` is that of the later lines."""
    first = text[: len(text) - len(text.lstrip(" "))]
    indent = f"{first}{HANGING}" if indent is None else indent
    if display_width(indent) > width // 2:  # hardly anything would fit beside it
        indent = HANGING
    lines, line, empty = list[str](), first[: width // 2], True
    for space, word in re.findall(r"(\s*)(\S+)", text):
        more = "" if empty else space
        if not empty and display_width(line + more + word) > width:
            lines.append(line)
            line, more = indent, ""
        line, empty = f"{line}{more}{word}", False
        while display_width(line) > width:
            head = _head(line, width)
            lines.append(head)
            line = indent + line[len(head) :]
    return [*lines, line]


def hanging(line: str, text: str, width: int | None) -> str:
    """Append a text to a line, or wrap it below if it does not fit; None: no limit."""
    together = f"{line}{GAP}{text}" if text else line
    if width is None or display_width(together) <= width:
        return together
    below = wrapped(BELOW + text, width, BELOW) if text else []
    return "\n".join([shortened(line, width), *below])


class StatusLine:
    """A line of a terminal, if a stream is one, that is drawn again and again, until it is cleared."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._width = stream, 0

    def draw(self, line: str = "") -> None:
        """Replace the line; an empty one clears it."""
        if not self._stream.isatty():
            return
        shown = shortened(line, shutil.get_terminal_size().columns - 1)
        if line or self._width:
            print(f"\r{padded(shown, self._width)}", end="" if line else "\r", file=self._stream, flush=True)
        self._width = display_width(shown)


class Waiting(AbstractContextManager["Waiting"]):
    """Progress of slow work on standard error: one line in a terminal, one after the other elsewhere."""

    def __init__(self, done: str, show: Callable[[int], str] = "{:,}".format) -> None:
        self._done, self._show = done, show  # what is done with each item, e.g. "opened"
        self._began = self._printed = time.monotonic()
        self._total = 0
        self._line = StatusLine(sys.stderr)

    def __exit__(self, *error: object) -> None:
        self._line.draw()

    def tell(self, done: int, total: int) -> None:
        now = time.monotonic()
        if total != self._total:
            self._total, self._began, self._printed = total, now, now
        is_due = now - self._printed >= (DRAW_EVERY if sys.stderr.isatty() else LINE_EVERY)
        if now - self._began < SHOW_AFTER or not is_due or not 0 < done < total:
            return
        self._printed = now
        left = duration((now - self._began) * (total - done) / done)
        line = f"{self._done} {self._show(done)} of {self._show(total)}, {left} left"
        self._line.draw(line)
        if not sys.stderr.isatty():
            print(line, file=sys.stderr, flush=True)


def table_lines(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    width: int | None = None,
    below: Sequence[str] = (),
    wrap: str = "",
) -> list[list[str]]:
    """Lines of each row, heading first; if too wide, `wrap` is wrapped, `below` go below, names are cut."""
    cells = [tuple(columns), *map(tuple, rows)]
    aligned = {place for place, name in enumerate(columns) if name in right}
    wrapped_place = columns.index(wrap) if wrap and width is not None else -1
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    beside, moved = [*range(len(widths))], list[int]()
    if width is not None:
        least = [min(each, ROOM) if place == wrapped_place else each for place, each in enumerate(widths)]
        for place in [columns.index(name) for name in (*below, wrap) if name]:
            if place in beside[1:] and _total(beside, least) > width:
                beside.remove(place)
                moved = sorted([*moved, place])
        if wrapped_place in beside:
            widths[wrapped_place] = 0
            widths[wrapped_place] = max(ROOM, width - _total(beside, widths))
        elastic = {*range(len(widths))} - aligned - {wrapped_place}
        _narrow(widths, beside, elastic, width)
        _narrow(widths, moved, elastic, width - len(BELOW))

    def line(places: Sequence[int], row: Sequence[str]) -> str:
        texts = (padded(text, widths[at], at in aligned) for at, text in zip(places, row, strict=True))
        return GAP.join(texts).rstrip()

    def lines_of(row: Sequence[str]) -> Iterator[str]:
        texts = [
            wrapped(row[at], widths[at], "") if at == wrapped_place else [shortened(row[at], widths[at])]
            for at in beside
        ]
        for parts in zip_longest(*texts, fillvalue=""):
            yield line(beside, parts)
        texts_below = [row[at] for at in moved]
        if width is not None and any(texts_below):
            below_others = BELOW + line(moved, texts_below)
            if wrapped_place in moved or display_width(below_others) > width:
                below_others = BELOW + GAP.join(filter(None, texts_below))
            yield from wrapped(below_others, width, BELOW)

    return [[*lines_of(row)] for row in cells]


def _narrow(widths: list[int], places: Sequence[int], elastic: Collection[int], width: int) -> None:
    """Shrink the widest columns of names until these columns fit, or all are short."""
    names = [place for place in places if place in elastic]
    while names and _total(places, widths) > width:
        widest = max(names, key=widths.__getitem__)
        if widths[widest] <= LEAST:
            return
        widths[widest] -= 1


def _total(places: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[place] + len(GAP) for place in places) - len(GAP)
