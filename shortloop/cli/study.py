"""``shortloop study``: the fields of an analysis's settings file, and checking one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.cli.analyses import named
from shortloop.cli.tables import counted, print_lines
from shortloop.cli.waiting import Waiting
from shortloop.text import one_line

if TYPE_CHECKING:
    from shortloop.cli.analyses import SettingsKind
    from shortloop.errors import InputError

__all__ = ["check_file", "kind_of", "list_fields"]


def kind_of(
    kinds: Mapping[str, SettingsKind], options: Sequence[str], file: Path | None = None
) -> SettingsKind:
    """Of which analysis the settings are.

    Parameters
    ----------
    kinds : mapping of str to SettingsKind
        By the name of the analysis.
    options : sequence of str
        What was given beside the file, e.g. ``["--NAME"]``.
    file : Path, optional
        The file.

    Returns
    -------
    SettingsKind
        The one that is named; else the one that knows most tables and keys of the file; else the first.

    Raises
    ------
    InputError
        If there is no such analysis, or several were given.
    """
    if not options:
        known = {name: len(_keys(file) & set(kind.fields().model_fields)) for name, kind in kinds.items()}
        return kinds[max(known, key=lambda name: known[name])]
    return named(kinds, options, "a file is of one analysis")


def _keys(file: Path | None) -> set[str]:
    try:
        if file is None or not file.is_file():  # from a pipe one would wait for ever
            return set()
        return set(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # what reads it says what is wrong
        return set()


def list_fields(kind: SettingsKind) -> None:
    """Print every field of a file with its description.

    Parameters
    ----------
    kind : SettingsKind
        Of which analysis.
    """
    from rich.console import Console
    from rich.table import Table

    from shortloop.settings.fields import documented_fields

    table = Table(box=None, pad_edge=False)
    table.add_column("field", style="bold", no_wrap=True)
    table.add_column("what, unit, default", overflow="fold")
    for name, description in documented_fields(kind.fields()):
        table.add_row(name.replace("[", "\\["), description.replace("[", "\\["))
    Console(highlight=False).print(table)


def check_file(kind: SettingsKind, file: Path, quick: bool = False) -> int:
    """Read a file, open all data that it names, and say what it asks for and what is wrong.

    Parameters
    ----------
    kind : SettingsKind
        Of which analysis.
    file : Path
        The file.
    quick : bool, default False
        Whether data are left unopened.

    Returns
    -------
    int
        Exit status: 1 if there are problems.

    Raises
    ------
    InputError
        If the file is missing, no TOML, or has one mistake.
    """
    from shortloop.settings.explain import WrongSettings

    try:
        said = kind.check(file)
    except WrongSettings as error:
        if len(error.every) == 1:
            raise
        _print_problems(error.every)
        print_lines(f"{one_line(file)}: {counted(len(error.every), 'problem')}; no data were opened")
        return 1
    opened = None
    if kind.open is not None and not quick:
        with Waiting("opened") as waiting:
            opened = kind.open(file, waiting.tell)
    if opened is not None and opened.problems:
        _print_problems(opened.problems)
        print_lines(*opened.notes)
        print_lines(f"{one_line(file)}: {counted(len(opened.problems), 'problem')}; {opened.said}")
        return 1
    print_lines(f"{one_line(file)} is fine: {said}")
    if opened is not None:
        print_lines(*opened.notes, *filter(None, [opened.said]))
    return 0


def _print_problems(problems: Sequence[InputError]) -> None:
    for number, problem in enumerate(problems, start=1):
        print_lines(f"{number}. {problem.message}", "")
