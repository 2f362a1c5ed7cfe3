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

    Parameters
    ----------
    draw : callable
        Draws it, given the fields that `reads` names, and none else: while these stay the same, the figure
        is not drawn again.
    reads : tuple of str
        As of :func:`shortloop.report.drawing.only`.
    caption : callable
        Says what is seen in it and how that was computed; takes the result, and the study as plain data,
        of which anything may be missing.
    alt : callable, optional
        Says in a sentence what it shows, for those who do not see it.
    cost : callable, optional
        Rough time that drawing it takes, relative to the other figures.
    numbers : callable, optional
        Gives what is drawn as text, for a file beside the page.
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

    Parameters
    ----------
    name : str
        End of the name of its figure's files.
    title : str
        Title of its figure.
    applies : callable, optional
        Whether there is anything to show. Default: there always is.
    finding : callable, optional
        What was found, in a sentence or two for the top of the page.
    figure : SectionFigure, optional
    table : callable, optional
        Gives a table, which is shown below all figures.
    stages : tuple of str, optional
        Stages that it shows something of, beside those that the group's statistics were made from.
    parts : callable, optional
        Gives what is shown in figures of their own: of each the end of its name, of its title, and what it
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
