"""A figure of a page, with its caption and drawing function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Generic, TypeVar

from shortloop.report.files import TABLES
from shortloop.report.page import PageFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortloop.report.provenance import ProvenanceRow

__all__ = ["Drawing", "only"]

T = TypeVar("T")


@dataclass(frozen=True)
class Drawing(Generic[T]):
    """A figure to be drawn.

    name: its file name without ending.
    result: what it shows.
    draw: draws it, given what is `shown`.
    title, caption, alt: what the page says of it.
    numbers: what it shows, as text: as of `shortloop.report.tables.csv_text`.
    reads: fields of the result that `draw` is given, as of `only`; default: all. While these stay the same,
        the figure is not drawn again.
    """

    name: str
    result: T
    draw: Callable[..., Figure]
    title: str
    caption: str
    alt: str
    numbers: Callable[[T], str]
    reads: tuple[str, ...] = ()

    cost = 1.0

    @property
    def shown(self) -> T | SimpleNamespace:
        """All that the figure reads."""
        return only(self.result, self.reads) if self.reads else self.result

    def figure(self, number: int, provenance: tuple[ProvenanceRow, ...]) -> PageFigure:
        """It, in its place on the page."""
        return PageFigure(
            self.name,
            number,
            self.title,
            self.caption,
            self.alt,
            provenance,
            f"{TABLES}/{self.name}.csv",
            self.numbers(self.result),
        )


def only(record: object, names: Iterable[str]) -> SimpleNamespace:
    """The named fields of a record, and none else; ``"a.b"`` is the field ``b`` of its field ``a``."""
    inner: dict[str, list[str]] = {}
    for name in names:
        first, _, rest = name.partition(".")
        inner.setdefault(first, []).extend([rest] if rest else [])
    known = {name: getattr(record, name) for name in inner}
    return SimpleNamespace(
        **{
            name: only(known[name], rest) if rest and known[name] is not None else known[name]
            for name, rest in inner.items()
        }
    )
