"""``shortloop study``: list or check the fields of a settings file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.analyses import named
from shortloop.base.text import one_line
from shortloop.cli.document import error_fields, print_document
from shortloop.cli.progress_bar import Waiting
from shortloop.cli.tables import counted, print_lines, print_table

if TYPE_CHECKING:
    from shortloop.analyses import SettingsKind
    from shortloop.base.errors import InputError

__all__ = ["check_file", "kind_of", "list_fields"]

DESCRIPTION = "description, unit, default"


def kind_of(
    kinds: Mapping[str, SettingsKind], options: Sequence[str], file: Path | None = None
) -> SettingsKind:
    """The analysis that a flag names; else the one that knows most tables of the file; else the first."""
    if not options:
        known = {name: len(_keys(file) & set(kind.fields().model_fields)) for name, kind in kinds.items()}
        return kinds[max(known, key=lambda name: known[name])]
    return named(kinds, options, "choose one analysis")


def _keys(file: Path | None) -> set[str]:
    try:
        if file is None or not file.is_file():  # from a pipe one would wait for ever
            return set()
        return set(tomllib.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # what reads it says what is wrong
        return set()


def list_fields(kind: SettingsKind, as_json: bool = False) -> None:
    """Print every field of a file with its description."""
    from shortloop.settings.read import documented_fields
    from shortloop.settings.record_by_kind import with_offered

    fields = [*documented_fields(with_offered(kind.fields()))]
    if as_json:
        listed = [{"field": name, "description": description} for name, description in fields]
        print_document({"noun": kind.noun, "fields": listed})
    else:
        print_table(("field", DESCRIPTION), fields, wrap=DESCRIPTION)


def check_file(kind: SettingsKind, file: Path, quick: bool = False, as_json: bool = False) -> int:
    """Read a file, open all data that it names, say what is wrong, and give the exit status."""
    from shortloop.settings.read import WrongSettings

    said, opened, notes = "", "no data were opened", tuple[str, ...]()
    problems: Sequence[InputError] = ()
    try:
        said = kind.check(file)
    except WrongSettings as error:
        if len(error.every) == 1 and not as_json:
            raise
        problems = error.every
    if kind.open is not None and not quick and not problems:
        with Waiting("opened") as waiting:
            opened, problems, notes = kind.open(file, waiting.tell)
    elif not problems:
        opened = ""
    if as_json:
        wrong = [error_fields(each) for each in problems]
        found = {"settings": said, "opened": opened, "problems": wrong, "notes": notes}
        print_document({"file": file, "noun": kind.noun, **found})
    elif problems:
        _print_problems(problems)
        print_lines(*notes)
        print_lines(f"{one_line(file)}: {counted(len(problems), 'problem')}; {opened}")
    else:
        print_lines(f"{one_line(file)} is fine: {said}", *notes, *filter(None, [opened]))
    return 1 if problems else 0


def _print_problems(problems: Sequence[InputError]) -> None:
    for number, problem in enumerate(problems, start=1):
        print_lines(f"{number}. {problem.message}", "")
