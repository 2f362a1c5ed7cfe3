"""``shortloop study``: list or check the fields of a settings file."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from shortloop.analyses import Opened, SettingsKind, find_analyses, selected
from shortloop.base.terminal import Waiting
from shortloop.base.text import counted, one_line
from shortloop.cli.output import error_fields, print_json, print_lines, print_table

DESCRIPTION = "description, unit, default"


def kind_of(options: Sequence[str], file: Path | None) -> SettingsKind:
    """Settings of the analysis that a flag names; else of that which knows most tables of the file."""
    kinds = {name: each.settings for name, each in find_analyses().items() if each.settings is not None}
    if options:
        return selected(kinds, options)
    tables: dict[str, object] = {}
    with suppress(OSError, ValueError):  # reported when the file is read
        if file is not None and file.is_file():  # reading a pipe might never end
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return max(kinds.values(), key=lambda kind: len(tables.keys() & kind.fields().model_fields.keys()))


def list_fields(kind: SettingsKind, as_json: bool = False) -> None:
    from shortloop.settings.read import documented_fields

    fields = [*documented_fields(kind.fields())]
    if as_json:
        listed = [{"field": name, "description": description} for name, description in fields]
        print_json(noun=kind.noun, fields=listed)
    else:
        print_table(("field", DESCRIPTION), fields, wrap=DESCRIPTION)


def check_file(kind: SettingsKind, file: Path, quick: bool = False, as_json: bool = False) -> int:
    """Read a file, open all data that it names, print all problems, and return the exit status."""
    from shortloop.settings.read import WrongSettings

    summary, result = "", Opened("")
    try:
        summary = kind.check(file)
    except WrongSettings as error:
        if len(error.every) == 1 and not as_json:
            raise
        result = Opened("no data were opened", error.every)
    if kind.open is not None and not quick and not result.problems:
        with Waiting("opened") as waiting:
            result = kind.open(file, waiting.tell)
    opened, problems, notes = result
    if as_json:
        wrong = [error_fields(each) for each in problems]
        found = {"settings": summary, "opened": opened, "problems": wrong, "notes": notes}
        print_json(file=file, noun=kind.noun, **found)
    elif problems:
        for number, problem in enumerate(problems, start=1):
            print_lines(f"{number}. {problem.message}", "")
        print_lines(*notes)
        print_lines(f"{one_line(file)}: {counted(len(problems), 'problem')}; {opened}")
    else:
        print_lines(f"{one_line(file)} is fine: {summary}", *notes, *filter(None, [opened]))
    return 1 if problems else 0
