"""A figure of a page: what draws it, and what the page says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Generic, TypeVar

from shortloop.report.files import FIGURES, TABLES
from shortloop.report.page import PageFigure
from shortloop.report.style import save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from shortloop.report.provenance import ProvenanceRow

__all__ = ["Drawing", "drawn"]

T = TypeVar("T")


@dataclass(frozen=True)
class Drawing(Generic[T]):
    """A figure to be drawn.

    Parameters
    ----------
    name : str
        Its file name without ending.
    shown : object
        What it shows.
    draw : callable
        Draws it.
    title, caption, alt : str
        What the page says of it.
    numbers : callable
        What it shows, as text: as of `shortloop.report.tables.csv_text`.
    """

    name: str
    shown: T
    draw: Callable[[T], Figure]
    title: str
    caption: str
    alt: str
    numbers: Callable[[T], str]

    def save(self, folder: Path) -> list[Path]:
        """Draw it, as PNG, PDF and SVG.

        Parameters
        ----------
        folder : Path

        Returns
        -------
        list of Path
        """
        return save(self.draw(self.shown), folder, self.name)

    def figure(self, number: int, provenance: tuple[ProvenanceRow, ...]) -> PageFigure:
        """It, in its place on the page.

        Parameters
        ----------
        number : int
            From 1.
        provenance : tuple of ProvenanceRow
            What it was made from.

        Returns
        -------
        PageFigure
        """
        return PageFigure(
            self.name,
            number,
            self.title,
            self.caption,
            self.alt,
            provenance,
            f"{TABLES}/{self.name}.csv",
            self.numbers(self.shown),
        )


def drawn(save: Callable[[Path], Iterable[Path]]) -> dict[str, bytes]:
    """Draw a figure, in a unit of the stage of a report.

    Parameters
    ----------
    save : callable
        Draws it into a folder, as `Drawing.save`.

    Returns
    -------
    dict of str to bytes
        Its files, by their path in the folder of the report.
    """
    with TemporaryDirectory() as folder:
        return {f"{FIGURES}/{file.name}": file.read_bytes() for file in save(Path(folder))}
