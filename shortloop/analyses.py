"""Installed analyses, and what each adds to the command.

Those that new projects begin with are folders of this package with a module ``analysis``, whose ``ANALYSIS``
says what it adds: entry points of a package that is installed in place are only as new as its last
installation. All others are entry points of the group ``shortloop.analyses``: of this package, such as
``frames = shortloop.frames.command:ANALYSIS``, or of anybody's.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from shortloop.base.entry_points import entry_points, load_entry_point, package_of
from shortloop.base.errors import InputError
from shortloop.base.extras import is_installed
from shortloop.settings.paths import STUDY_VARIABLE

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from matplotlib.figure import Figure
    from typer import Typer

    from shortloop.settings.base import StudySettings
    from shortloop.stages.results import Result
    from shortloop.sweep.findings import FindingsOf

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
GROUP = "shortloop.analyses"

T = TypeVar("T")
Tell = Callable[[int, int], None]
"""Is told how many of how many are done."""


class Look(NamedTuple):
    """What an analysis found in a folder or file of data.

    lines: what it found.
    settings: a settings file for it.
    questions: what the data do not say; the settings file is to be completed by the answers.
    """

    lines: tuple[str, ...]
    settings: str
    questions: tuple[str, ...] = ()


class Opened(NamedTuple):
    """What came of opening all data that a settings file names.

    said: what was opened.
    problems: all that would end a run.
    notes: what would not.
    """

    said: str
    problems: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()


class Compared(NamedTuple):
    """A number of two jobs.

    what: what it is of, e.g. ``"over time"``.
    label: what it measures, with its unit.
    summary: how it sums that up, e.g. ``"mean"``.
    first, second: in each job.
    """

    what: str
    label: str
    summary: str
    first: float
    second: float


@dataclass(frozen=True)
class Comparison:
    """What an analysis shows of two jobs of one of its stages.

    title: what the numbers are, e.g. ``"scores"``.
    draw: draws both jobs.
    """

    title: str
    numbers: tuple[Compared, ...]
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class Template:
    """What a new project begins with.

    files: gives its files, by their path in the project.
    packages: further method packages.
    run: the command that runs it.
    needs: name of the extra that installs what it needs.
    libraries: That, by the names that it is imported by.
    """

    files: Callable[[], Mapping[str, Path]]
    packages: tuple[str, ...]
    run: str
    needs: str
    libraries: tuple[str, ...]

    def missing(self) -> list[str]:
        """Libraries that it needs and that are not installed."""
        return [name for name in self.libraries if not is_installed(name)]


@dataclass(frozen=True)
class SettingsKind:
    """The settings file of an analysis, for ``shortloop study`` and ``shortloop sweep``.

    noun: what messages call the file, e.g. ``"panel"``.
    record: where its record is, e.g. ``"shortloop.panel.settings.Panel"``; imported when it is asked for.
    script: the build script that it is for.
    open: opens all data that a file names, and says what is wrong with them.
    """

    noun: str
    record: str
    script: str
    open: Callable[[Path, Tell], Opened] | None = None

    def fields(self) -> type[StudySettings]:
        """The record of the file."""
        module, _, name = self.record.rpartition(".")
        found: type[StudySettings] = getattr(importlib.import_module(module), name)
        return found

    def check(self, file: Path) -> str:
        """What a file asks for."""
        from shortloop.settings.read import read_settings

        return read_settings(file, self.fields(), noun=self.noun, variable=STUDY_VARIABLE).in_words()


@dataclass(frozen=True)
class Analysis:
    """What an analysis adds to the command. To list commands, its module is imported: it loads nothing heavy.

    commands: commands of its own.
    compare: takes two jobs of one stage, and says what to show of them; None if it knows no way to.
    template: what a new project of it begins with.
    settings: its settings file.
    findings: what its runs found, as numbers, for ``shortloop sweep``.
    look: takes a folder or file of data and the folder of a project, and says what it makes of them; None if
        they are nothing for it.
    """

    commands: Typer | None = None
    compare: Callable[[Result, Result], Comparison | None] | None = None
    template: Template | None = None
    settings: SettingsKind | None = None
    findings: FindingsOf | None = None
    look: Callable[[Path, Path, Tell], Look | None] | None = None


def project_files(name: str, own: Sequence[str], more: Mapping[str, Path]) -> dict[str, Path]:
    """Files of a new project of an analysis: its template, and files as in the repository."""
    package = Path(__file__).parents[0]
    template = package / name / "template"
    files = (file for file in template.rglob("*.*") if "__pycache__" not in file.parts)
    rooms = package if (package / "build_scripts").is_dir() else package.parent
    found = {str(file.relative_to(template)): file for file in files}
    return {**found, **{each: rooms / each for each in own}, **more}


def named(known: Mapping[str, T], options: Sequence[str], wrong: str, hint: str | None = None) -> T:
    """What an option of the command names."""
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
    """The analyses that are installed, by name."""
    folder = Path(__file__).parents[0]
    names = [file.parent.name for file in folder.glob(f"*/{MODULE}.py")]
    found: dict[str, Analysis] = {
        name: importlib.import_module(f"{PACKAGE}.{name}.{MODULE}").ANALYSIS for name in names
    }
    for each in entry_points(GROUP):
        if package_of(each) == PACKAGE and not (folder / each.module.split(".")[1]).is_dir():
            continue  # a copy of this package that lacks it
        found[each.name] = _checked(each, found)
    return dict(sorted(found.items()))


def _checked(each: EntryPoint, others: Mapping[str, Analysis]) -> Analysis:
    """The analysis of an entry point, whose name becomes an option."""
    if each.name in others or not re.fullmatch(r"[a-z][a-z0-9_-]*", each.name):
        raise InputError(
            "an entry point cannot be an analysis of this name",
            field=f"{each.name} = {each.value}",
            found=f"{each.name}, of the package {package_of(each, 'Version')}",
            expected=f"lower-case letters, digits, - and _, and none of {', '.join(sorted(others))}",
            hint=f"rename it there, or uninstall {package_of(each)}",
        )
    analysis: Analysis = load_entry_point(
        each,
        lambda found: isinstance(found, Analysis),
        "an entry point is not an analysis",
        "shortloop.analyses.Analysis",
    )
    return analysis
