"""A page with the files that it brings along, written as the stage of a report leaves them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shortloop.report.files import FIGURES, REPORT
from shortloop.report.page import Page, files_beside, html_of
from shortloop.report.style import encoded, new_figure


def html_undrawn(page: Page) -> str:
    """A page, with one small picture in place of each figure: they take longer than all else."""
    picture = encoded(new_figure(), ["png"])["png"]
    names = [figure.name for section in page.sections for figure in section.figures]
    return html_of(page, {f"{FIGURES}/{name}.png": picture for name in names}).decode()


def write_whole(page: Page, folder: Path, drawings: Iterable[Any] = ()) -> list[Path]:
    """Write them, with figures in all formats; the page is the first."""
    figures = {
        f"{FIGURES}/{each.name}.{ending}": data
        for each in drawings
        for ending, data in encoded(each.draw(each.shown)).items()
    }
    files = {REPORT: html_of(page, figures), **figures, **files_beside(page)}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [folder / name for name in files]
