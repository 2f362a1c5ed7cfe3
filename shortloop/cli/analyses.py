"""The analyses there are, and what each adds to the command.

An analysis is a folder in this package with a module ``analysis``, whose ``ANALYSIS`` says what it adds.
They are looked for in the folder, not among entry points: those of a package that is installed in place are
only as new as its last installation, and a copy of the project has none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from shortloop.errors import InputError
from shortloop.extras import is_installed
from shortloop.settings.variable import STUDY_VARIABLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from typer import Typer

    from shortloop.settings.base import StudySettings
    from shortloop.sweep.findings import FindingsOf
    from shortloop.worker.results import Result

__all__ = [
    "Analysis",
    "Compared",
    "Comparison",
    "Look",
    "Opened",
    "SettingsKind",
    "Tell",
    "Template",
    "find_analyses",
    "named",
    "project_files",
]

PACKAGE = "shortloop"
MODULE = "analysis"

T = TypeVar("T")
Tell = Callable[[int, int], None]
"""Is told how many of how many are done."""


class Look(NamedTuple):
    """What an analysis found in a folder or file of data.

    Parameters
    ----------
    lines : tuple of str
        What it found.
    settings : str
        A settings file for it.
    questions : tuple of str
        What the data do not say; the settings file is to be completed by the answers.
    """

    lines: tuple[str, ...]
    settings: str
    questions: tuple[str, ...] = ()


class Opened(NamedTuple):
    """What came of opening all data that a settings file names.

    Parameters
    ----------
    said : str
        What was opened.
    problems : tuple of InputError
        All that would end a run.
    notes : tuple of str
        What would not.
    """

    said: str
    problems: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()


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
class Template:
    """What a new project begins with.

    Parameters
    ----------
    files : callable
        Gives its files, by their path in the project.
    packages : tuple of str
        Further method packages.
    run : str
        The command that runs it.
    needs : str
        Name of the extra that installs what it needs.
    libraries : tuple of str
        That, by the names that it is imported by.
    """

    files: Callable[[], Mapping[str, Path]]
    packages: tuple[str, ...]
    run: str
    needs: str
    libraries: tuple[str, ...]

    def missing(self) -> list[str]:
        """Libraries that it needs and that are not installed.

        Returns
        -------
        list of str
        """
        return [name for name in self.libraries if not is_installed(name)]


@dataclass(frozen=True)
class SettingsKind:
    """The settings file of an analysis, for ``shortloop study`` and ``shortloop sweep``.

    Parameters
    ----------
    noun : str
        What messages call the file, e.g. ``"panel"``.
    record : str
        Where its record is, e.g. ``"shortloop.panel.settings.Panel"``; imported when it is asked for.
    script : str
        The build script that it is for.
    open : callable, optional
        Opens all data that a file names, and says what is wrong with them.
    """

    noun: str
    record: str
    script: str
    open: Callable[[Path, Tell], Opened] | None = None

    def fields(self) -> type[StudySettings]:
        """The record of the file.

        Returns
        -------
        type
        """
        module, _, name = self.record.rpartition(".")
        found: type[StudySettings] = getattr(importlib.import_module(module), name)
        return found

    def check(self, file: Path) -> str:
        """What a file asks for.

        Parameters
        ----------
        file : Path

        Returns
        -------
        str
            A line.

        Raises
        ------
        InputError
            If it is missing or wrong.
        """
        from shortloop.settings.read import read_settings

        return read_settings(file, self.fields(), noun=self.noun, variable=STUDY_VARIABLE).in_words()


@dataclass(frozen=True)
class Analysis:
    """What an analysis adds to the command. To list commands, its module is imported: it loads nothing heavy.

    Parameters
    ----------
    commands : typer.Typer, optional
        Commands of its own.
    compare : callable, optional
        Takes two jobs of one stage, and says what to show of them; None if it knows no way to.
    template : Template, optional
        What a new project of it begins with.
    settings : SettingsKind, optional
        Its settings file.
    findings : FindingsOf, optional
        What its runs found, as numbers, for ``shortloop sweep``.
    look : callable, optional
        Takes a folder or file of data and the folder of a project, and says what it makes of them; None if
        they are nothing for it.
    """

    commands: Typer | None = None
    compare: Callable[[Result, Result], Comparison | None] | None = None
    template: Template | None = None
    settings: SettingsKind | None = None
    findings: FindingsOf | None = None
    look: Callable[[Path, Path, Tell], Look | None] | None = None


def project_files(name: str, own: Sequence[str], more: Mapping[str, Path]) -> dict[str, Path]:
    """Files of a new project of an analysis: its template, and files as in the repository.

    Parameters
    ----------
    name : str
        Of the analysis.
    own : sequence of str
        Files of the repository, by their path in it.
    more : mapping of str to Path
        Further ones, by their path in the project.

    Returns
    -------
    dict of str to Path
        By their path in the project.
    """
    package = Path(__file__).parents[1]
    template = package / name / "template"
    files = (file for file in template.rglob("*.*") if "__pycache__" not in file.parts)
    rooms = package if (package / "build_scripts").is_dir() else package.parent
    found = {str(file.relative_to(template)): file for file in files}
    return {**found, **{each: rooms / each for each in own}, **more}


def named(known: Mapping[str, T], options: Sequence[str], wrong: str, hint: str | None = None) -> T:
    """What an option of the command names.

    Parameters
    ----------
    known : mapping of str to object
        By the name of the analysis.
    options : sequence of str
        What was given, e.g. ``["--NAME"]``; at least one.
    wrong : str
        What is wrong where that is not one of them.
    hint : str, optional
        What to do then.

    Returns
    -------
    object
        Of that analysis.

    Raises
    ------
    InputError
        If there is no such analysis, or several were given.
    """
    names = [each.removeprefix("--") for each in options]
    if len(names) > 1 or names[0] not in known or not options[0].startswith("--"):
        raise InputError(
            wrong,
            found=" ".join(options),
            expected=f"nothing, or one of {', '.join(f'--{name}' for name in sorted(known))}",
            hint=hint,
        )
    return known[names[0]]


def find_analyses() -> dict[str, Analysis]:
    """The analyses that are installed.

    Returns
    -------
    dict of str to Analysis
        By name, sorted.
    """
    folder = Path(__file__).parents[1]
    names = sorted(file.parent.name for file in folder.glob(f"*/{MODULE}.py"))
    return {name: importlib.import_module(f"{PACKAGE}.{name}.{MODULE}").ANALYSIS for name in names}
