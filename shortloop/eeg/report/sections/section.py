"""A section of the report: a figure and words about one kind of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shortloop.eeg.report.content import KindResult
from shortloop.report.layout import short
from shortloop.report.page import Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
TIMES = "kind participants test_times time_unit train_times"  # fields that nearly every figure reads


@dataclass(frozen=True)
class Section(Generic[T]):
    """A section of the report; its functions take a record, e.g. `KindResult`."""

    name: str  # of the figure's files
    title: str  # of the figure
    draw: Callable[[T], Figure]
    reads: str  # the fields that `draw` may read: the figure is drawn again only if these changed
    caption: Callable[[T, dict[str, Any]], str]  # the study may lack fields
    numbers: Callable[[T], str]  # gives the drawn numbers as CSV
    alt: Callable[[T], str] = lambda result: ""  # a sentence for those who do not see the figure
    cost: Callable[[T], float] = lambda result: 4.0  # rough time of drawing, relative to other figures
    applies: Callable[[T], bool] = lambda result: True
    finding: Callable[[T], str] = lambda result: ""  # sentences for the top of the page
    stages: tuple[str, ...] = ()  # that it shows results of, besides those behind the group's statistics
    # Gives the results that have figures of their own, with the ends of these figures' names and titles.
    parts: Callable[[T], list[tuple[str, str, T]]] = lambda result: [("", "", result)]

    def drawing(self, name: str, title: str, result: T) -> Drawing[T]:
        reads, cost = tuple(self.reads.split()), self.cost(result)
        # Caption and alternative text are only for the page.
        return Drawing(name, result, self.draw, title, "", "", self.numbers, reads, cost)


def fields_of(names: str, fields: str) -> str:
    """Name fields of some fields, for `Section.reads`."""
    return " ".join(f"{name}.{field}" for name in names.split() for field in fields.split())


def title_of(result: KindResult, what: str) -> str:
    """Title of a figure: kind of features, what it shows, and of whom."""
    return f"{result.kind.capitalize()}: {what}, {whose(result.participants)}"


def whose(participants: Sequence[str]) -> str:
    if len(participants) == 1:
        return f"participant {short(participants[0], 20)}"
    return f"group of {len(participants)}"


def transfer(result: KindResult) -> str:
    if result.train_phase == result.test_phase:
        return f"across time within {result.train_phase}"
    return f"from {result.train_phase} to {result.test_phase}"
