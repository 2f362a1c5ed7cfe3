"""A section of the report: figure, table and words about one kind of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shortloop.eeg.report.content import KindResult
from shortloop.report.layout import short
from shortloop.report.page import PageTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


T = TypeVar("T")

TIMES = ("kind", "participants", "test_times", "time_unit", "train_times")
"""Fields that nearly every figure reads."""


@dataclass(frozen=True)
class SectionFigure(Generic[T]):
    """A figure of records of some type, and the words about it."""

    draw: Callable[[T], Figure]
    reads: tuple[str, ...]  # the fields that `draw` may read: it is drawn again only if these changed
    caption: Callable[[T, dict[str, Any]], str]  # also takes the study as plain data; fields may be missing
    alt: Callable[[T], str] = lambda result: ""  # a sentence for those who do not see it
    cost: Callable[[T], float] = lambda result: 4.0  # rough time of drawing, relative to other figures
    numbers: Callable[[T], str] | None = None  # gives the drawn numbers as CSV


@dataclass(frozen=True)
class Section:
    """A section of the report; its functions take the result of one kind of features."""

    name: str  # of the figure's files
    title: str  # of the figure
    applies: Callable[[KindResult], bool] = lambda result: True
    finding: Callable[[KindResult], str] = lambda result: ""  # sentences for the top of the page
    figure: SectionFigure[KindResult] | None = None
    table: Callable[[KindResult], PageTable] | None = None  # shown below all figures
    stages: tuple[str, ...] = ()  # that it shows results of, besides those behind the group's statistics
    # Gives the results that have figures of their own, with the ends of these figures' names and titles.
    parts: Callable[[KindResult], list[tuple[str, str, KindResult]]] = lambda result: [("", "", result)]


def fields_of(name: str, fields: str) -> tuple[str, ...]:
    """Name fields of the field `name`, separated by blanks, for `SectionFigure.reads`."""
    return tuple(f"{name}.{field}" for field in fields.split())


def title_of(result: KindResult, what: str) -> str:
    """Title of a figure: kind of features, what it shows, and of whom."""
    if result.curve.level == "participant":
        whose = f", participant {short(result.participants[0], 20)}"
    else:
        whose = f", group of {len(result.participants)}"
    return f"{result.kind.capitalize()}: {what}{whose}"
