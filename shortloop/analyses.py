"""Installed analyses, and what each adds to the command.

Analyses with a template are folders of this package with a module ``analysis`` and its ``ANALYSIS``, because
entry points of a package installed in place are only as new as its last installation. All others are entry
points of the group ``shortloop.analyses``, e.g. ``frames = shortloop.frames.command:ANALYSIS``.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from shortloop.base.errors import InputError
from shortloop.base.extras import entry_points, is_installed, load_entry_point, package_of
from shortloop.settings.paths import STUDY_VARIABLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from typer import Typer

    from shortloop.settings.base import StudySettings
    from shortloop.stages.results import Result
    from shortloop.sweep.findings import FindingsOf

PACKAGE = "shortloop"
MODULE = "analysis"
GROUP = "shortloop.analyses"

T = TypeVar("T")
Tell = Callable[[int, int], None]  # receives the number done, and the total


class Look(NamedTuple):
    """Outcome of an analysis's inspection of data."""

    lines: tuple[str, ...]  # what it found
    settings: str  # text of a settings file for the data
    questions: tuple[str, ...] = ()  # to be answered in the settings file


class Opened(NamedTuple):
    """Outcome of opening all data that a settings file names."""

    said: str  # what was opened
    problems: tuple[InputError, ...] = ()  # errors that would end a run
    notes: tuple[str, ...] = ()  # other remarks


class Compared(NamedTuple):
    """A number of two jobs."""

    what: str  # e.g. "over time"
    label: str  # quantity with unit
    summary: str  # e.g. "mean"
    first: float
    second: float


@dataclass(frozen=True)
class Comparison:
    """Comparison of two jobs of one stage."""

    title: str  # of the numbers, e.g. "scores"
    numbers: tuple[Compared, ...]
    draw: Callable[[], Figure]  # of both jobs


@dataclass(frozen=True)
class Template:
    """Template of a new project."""

    files: Callable[[], Mapping[str, Path]]  # by their path in the project
    packages: tuple[str, ...]  # further method packages
    run: str  # the command that runs it
    needs: str  # the extra that installs its libraries
    libraries: tuple[str, ...]  # names of modules

    def missing(self) -> list[str]:
        """Libraries that are not installed."""
        return [name for name in self.libraries if not is_installed(name)]


@dataclass(frozen=True)
class SettingsKind:
    """The settings file of an analysis, for ``shortloop study`` and ``shortloop sweep``."""

    noun: str  # in messages, e.g. "panel"
    record: str  # its class, imported on use, e.g. "shortloop.panel.settings.Panel"
    script: str  # the build script that reads it
    open: Callable[[Path, Tell], Opened] | None = None  # opens all data that a file names

    def fields(self) -> type[StudySettings]:
        """The class of the settings."""
        found: type[StudySettings] = pkgutil.resolve_name(self.record)
        return found

    def check(self, file: Path) -> str:
        """Validate a file, and return its summary."""
        from shortloop.settings.read import read_settings

        return read_settings(file, self.fields(), noun=self.noun, variable=STUDY_VARIABLE).in_words()


@dataclass(frozen=True)
class Analysis:
    """What an analysis adds to the command, which imports its module: that must load nothing heavy."""

    commands: Typer | None = None
    compare: Callable[[Result, Result], Comparison | None] | None = None  # None: unknown stage
    template: Template | None = None
    settings: SettingsKind | None = None
    findings: FindingsOf | None = None  # of a run, for ``shortloop sweep``
    look: Callable[[Path, Path, Tell], Look | None] | None = None
    """Inspects a folder or file of data for a project's folder; None for data of another analysis."""


def files_below(folder: Path) -> dict[str, Path]:
    """Files of a template, by their path in the project."""
    found = sorted(file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file.relative_to(folder)): file for file in found}


def project_files(name: str, own: Sequence[str], more: Mapping[str, Path]) -> dict[str, Path]:
    """Files of an analysis's template, and files of the repository."""
    package = Path(__file__).parents[0]
    rooms = package if (package / "build_scripts").is_dir() else package.parent
    return {**files_below(package / name / "template"), **{each: rooms / each for each in own}, **more}


def selected(known: Mapping[str, T], options: Sequence[str]) -> T:
    """The value that an option --NAME selects."""
    names = [each.removeprefix("--") for each in options]
    if len(names) > 1 or names[0] not in known:
        expected = f"nothing, or one of {', '.join(f'--{name}' for name in sorted(known))}"
        raise InputError("choose one analysis", found=" ".join(options), expected=expected)
    return known[names[0]]


def find_analyses() -> dict[str, Analysis]:
    """Installed analyses, by name."""
    folder = Path(__file__).parents[0]
    names = [file.parent.name for file in folder.glob(f"*/{MODULE}.py")]
    found: dict[str, Analysis] = {
        name: importlib.import_module(f"{PACKAGE}.{name}.{MODULE}").ANALYSIS for name in names
    }
    for each in entry_points(GROUP):
        if package_of(each) == PACKAGE and not (folder / each.module.split(".")[1]).is_dir():
            continue  # this copy of the package lacks it
        if each.name in found or not re.fullmatch(r"[a-z][a-z0-9_-]*", each.name):  # it becomes an option
            problem = "an entry point cannot be an analysis of this name"
            field = f"{each.name} = {each.value}"
            what = f"{each.name}, of the package {package_of(each, 'Version')}"
            expected = f"lower-case letters, digits, - and _, and none of {', '.join(sorted(found))}"
            hint = f"rename it there, or uninstall {package_of(each)}"
            raise InputError(problem, field=field, found=what, expected=expected, hint=hint)
        found[each.name] = load_entry_point(
            each,
            lambda given: isinstance(given, Analysis),
            "an entry point is not an analysis",
            "shortloop.analyses.Analysis",
        )
    return dict(sorted(found.items()))
