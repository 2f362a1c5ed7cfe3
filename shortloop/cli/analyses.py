"""The analyses there are, and what each adds to the command.

An analysis is a folder in this package with a module ``analysis``, whose ``ANALYSIS`` says what it adds.
They are looked for in the folder, not among entry points: those of a package that is installed in place are
only as new as its last installation, and a copy of the project has none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from typer import Typer

    from shortloop.worker.results import Result

__all__ = ["Analysis", "Compared", "Comparison", "find_analyses"]

PACKAGE = "shortloop"
MODULE = "analysis"


class Compared(NamedTuple):
    """A number of two jobs.

    Parameters
    ----------
    what : str
        What it is of, e.g. ``"over time"``.
    label : str
        What it measures, with its unit.
    summary : str
        How it sums that up, e.g. ``"mean"``.
    first, second : float
        In each job.
    """

    what: str
    label: str
    summary: str
    first: float
    second: float


@dataclass(frozen=True)
class Comparison:
    """What an analysis shows of two jobs of one of its stages.

    Parameters
    ----------
    title : str
        What the numbers are, e.g. ``"scores"``.
    numbers : tuple of Compared
    draw : callable
        Draws both jobs.
    """

    title: str
    numbers: tuple[Compared, ...]
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Analysis:
    """What an analysis adds to the command. To list commands, its module is imported: it loads nothing heavy.

    Parameters
    ----------
    commands : typer.Typer
        Commands of its own.
    compare : callable
        Takes two jobs of one stage, and says what to show of them; None if it knows no way to.
    """

    commands: Typer
    compare: Callable[[Result, Result], Comparison | None]


def find_analyses() -> list[Analysis]:
    """The analyses that are installed.

    Returns
    -------
    list of Analysis
        By name.
    """
    folder = Path(__file__).parents[1]
    names = sorted(file.parent.name for file in folder.glob(f"*/{MODULE}.py"))
    return [importlib.import_module(f"{PACKAGE}.{name}.{MODULE}").ANALYSIS for name in names]
