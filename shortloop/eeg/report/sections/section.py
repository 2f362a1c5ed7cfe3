"""What a section of the report is: what a reader is shown and told of one kind of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from shortloop.eeg.report.content import KindResult
from shortloop.report.page import PageTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["TIMES", "Section", "SectionFigure"]


T = TypeVar("T")


TIMES = ("kind", "participants", "test_times", "time_unit", "train_times")
"""What nearly every figure reads of a result."""


def _all(result: KindResult) -> bool:
    return True


def _whole(result: KindResult) -> list[tuple[str, str, KindResult]]:
    return [("", "", result)]


def _nothing(result: object) -> str:
    return ""


def _as_long_as_any(result: object) -> float:
    return 4.0


@dataclass(frozen=True)
class SectionFigure(Generic[T]):
    """The figure of a section, or another that shows records of some type.

    draw: draws it, given the fields that `reads` names, and none else: while these stay the same, the figure
        is not drawn again.
    caption: says what is seen in it and how that was computed; takes the result, and the study as plain data,
        of which anything may be missing.
    alt: says in a sentence what it shows, for those who do not see it.
    cost: rough time that drawing it takes, relative to the other figures.
    numbers: gives what is drawn as text, for a file beside the page.
    """

    draw: Callable[[T], Figure]
    reads: tuple[str, ...]
    caption: Callable[[T, dict[str, Any]], str]
    alt: Callable[[T], str] = _nothing
    cost: Callable[[T], float] = _as_long_as_any
    numbers: Callable[[T], str] | None = None


@dataclass(frozen=True)
class Section:
    """A section of the report; all of it takes the result of one kind of features.

    name: end of the name of its figure's files.
    title: title of its figure.
    applies: whether there is anything to show. Default: there always is.
    finding: what was found, in a sentence or two for the top of the page.
    table: gives a table, which is shown below all figures.
    stages: stages that it shows something of, beside those that the group's statistics were made from.
    parts: gives what is shown in figures of their own: of each the end of its name, of its title, and what it
        shows. Default: there is one figure, of all.
    """

    name: str
    title: str
    applies: Callable[[KindResult], bool] = _all
    finding: Callable[[KindResult], str] = _nothing
    figure: SectionFigure[KindResult] | None = None
    table: Callable[[KindResult], PageTable] | None = None
    stages: tuple[str, ...] = ()
    parts: Callable[[KindResult], list[tuple[str, str, KindResult]]] = _whole
