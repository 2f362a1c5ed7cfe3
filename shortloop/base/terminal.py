"""Lay out text for the terminal: wrap, shorten and tabulate."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import zip_longest

GAP = "  "
BELOW = "    "  # indent of text that did not fit into its line
ROOM = 24  # columns that a text is given beside others, at least; else it goes below them
LEAST = 6  # columns that a name is shortened to
HANGING = "  "


def display_width(text: str) -> int:
    """Columns that a text takes in a terminal: two for a wide character, none for a combining one."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, width: int, right: bool = False) -> str:
    """Pad a text to a width."""
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
    """Wrap a line between words, or within one that is too long.

    `indent` is that of the later lines; default: a little more than that of the first.
    """
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


def table_lines(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    width: int | None = None,
    below: Sequence[str] = (),
    wrap: str = "",
) -> list[list[str]]:
    """The lines of a table, those of its heading first: each row has one, or several if it would be too wide.

    Texts of the column `wrap` are wrapped in it. The columns `below` then go below the others, one after the
    other until these fit, and at last names are shortened. `width` None: there is room for all.
    """
    cells = [tuple(columns), *map(tuple, rows)]
    table = _Table(cells, {place for place, name in enumerate(columns) if name in right})
    if width is not None:
        table.fit(width, [columns.index(name) for name in below], columns.index(wrap) if wrap else None)
    return [[*table.beside(row), *table.below(row)] for row in cells]


class _Table:
    """Columns of a table that are side by side, and their widths."""

    def __init__(self, rows: Sequence[Sequence[str]], right: Collection[int]) -> None:
        self._right = right
        self._widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
        self._beside = [*range(len(self._widths))]
        self._moved: list[int] = []
        self._wrap: int | None = None
        self._width = 0

    def fit(self, width: int, below: Sequence[int], wrap: int | None) -> None:
        """Move columns below the others and make columns narrower until all lines fit."""
        self._wrap, self._width = wrap, width
        least = [min(each, ROOM) if place == wrap else each for place, each in enumerate(self._widths)]
        for place in (*below, wrap):
            if place is not None and place in self._beside[1:] and _total(self._beside, least) > width:
                self._beside.remove(place)
                self._moved = sorted([*self._moved, place])
        if wrap is not None and wrap in self._beside:
            self._widths[wrap] = 0
            self._widths[wrap] = max(ROOM, width - _total(self._beside, self._widths))
        self._narrow(self._beside, width)
        self._narrow(self._moved, width - len(BELOW))

    def _narrow(self, places: Sequence[int], width: int) -> None:
        """Shrink the widest columns of names."""
        elastic = [place for place in places if place not in self._right and place != self._wrap]
        while elastic and _total(places, self._widths) > width:
            widest = max(elastic, key=self._widths.__getitem__)
            if self._widths[widest] <= LEAST:
                return
            self._widths[widest] -= 1

    def beside(self, row: Sequence[str]) -> Iterator[str]:
        """Columns side by side: one line, or several if a text is wrapped."""
        texts = [
            wrapped(row[place], self._widths[place], "")
            if place == self._wrap
            else [shortened(row[place], self._widths[place])]
            for place in self._beside
        ]
        for cells in zip_longest(*texts, fillvalue=""):
            yield self._line(self._beside, cells)

    def below(self, row: Sequence[str]) -> list[str]:
        """Columns below the others: one line, or a wrapped text."""
        cells = [row[place] for place in self._moved]
        line = BELOW + self._line(self._moved, cells)
        if self._wrap in self._moved or display_width(line) > self._width:
            line = BELOW + GAP.join(filter(None, cells))
        return wrapped(line, self._width, BELOW) if any(cells) else []

    def _line(self, places: Sequence[int], cells: Sequence[str]) -> str:
        """Join padded cells."""
        texts = (
            padded(cell, self._widths[place], place in self._right)
            for place, cell in zip(places, cells, strict=True)
        )
        return GAP.join(texts).rstrip()


def _total(places: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[place] + len(GAP) for place in places) - len(GAP)
