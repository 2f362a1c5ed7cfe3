"""Command-line completion for bash, zsh and fish: the answer to Typer's scripts, and values of parameters."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

VARIABLE = "_SHORTLOOP_COMPLETE"
ASKED = tuple(f"complete_{shell}" for shell in ("bash", "zsh", "fish"))


def is_requested() -> bool:
    return os.environ.get(VARIABLE) in ASKED


def complete(group: Any) -> None:
    """Print completions as Typer does, but quoted for bash, and none after an unknown command."""
    from typer import _completion_classes

    typers: Any = _completion_classes
    typers._sanitize_help_text = str  # noqa: SLF001  rich would take longer than a key press should
    shell = os.environ[VARIABLE].partition("_")[2]
    answer = getattr(typers, f"{shell.capitalize()}Complete")(group, {}, "shortloop", VARIABLE)
    try:
        found = _found(answer, *answer.get_completion_args())
    except Exception:  # no project, or an unreadable one: print no error at a prompt
        found = []
    for each in found if shell == "bash" else ():
        each.value = re.sub(r"([^\w@%+=:,./-])", r"\\\1", each.value)
    answer.get_completions = lambda words, prefix: found
    print(answer.complete())


def _found(answer: Any, words: list[str], prefix: str) -> list[Any]:
    words = [word for word in words if word != "="]  # a separate word in bash
    command = next((word for word in words if not word.startswith("-")), None)
    if command not in (None, *answer.cli.commands):
        return []
    for each in () if command is None else answer.cli.commands[command].params:
        if (values := VALUES.get(f"{command} {each.name}", VALUES.get(each.name))) is not None:
            each.shell_complete = partial(_matching, values)
    option, equals, _ = prefix.partition("=")
    found = answer.get_completions(words, prefix)
    for each in found if equals and option.startswith("-") else ():  # the shell replaces the whole word
        each.value = f"{option}={each.value}"
    return [each for each in found if each.type == "plain"]


def _matching(values: Callable[[], Iterable[str]], _: object, prefix: str) -> list[SimpleNamespace]:
    words = [each for each in values() if each.startswith(prefix)]
    return [SimpleNamespace(value=each, help="", type="plain") for each in words]


def _scripts() -> list[str]:
    from shortloop.keys.methods import own_scripts

    return [name for each in own_scripts() for name in (each.removeprefix("build_"), each)]


def _jobs() -> list[str]:
    from shortloop.project.project import job_folders

    return [folder.name for folder in job_folders()][::-1]


def _indexed(column: str, table: str = "places") -> list[str]:
    """Values in the indexes of jobs, read without a store, which would repair them first."""
    import sqlite3

    from shortloop.project.project import configuration
    from shortloop.store.workdir import hidden_folder

    found: set[str | None] = set()
    for name, workdir in configuration().workdirs.items():
        file = hidden_folder(Path(workdir)) / f"{name}.sqlite"
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as base:
            found |= {value for (value,) in base.execute(f"select distinct {column} from {table}")}
    return sorted(filter(None, found))


def _runs() -> list[str]:
    from shortloop.run.runs import run_numbers

    return [str(number) for number in run_numbers()][::-1]


_settings, _stages = partial(_indexed, "settings", "pipelines"), partial(_indexed, "stage")

VALUES: dict[str, Callable[[], Iterable[str]] | None] = {
    **dict.fromkeys(("run settings", "plan settings", "harmless settings")),  # a file; for others a name
    "show job": _jobs,
    "script": _scripts,
    **dict.fromkeys(("first", "second"), _jobs),
    **dict.fromkeys(("job", "force"), lambda: [*_stages(), *_jobs()]),
    **dict.fromkeys(("stage", "until", "only"), _stages),
    **dict.fromkeys(("settings", "forget"), _settings),
    "partition": partial(_indexed, "partition"),
    "state": partial(resolve_name, "shortloop.cli.lookup.jobs:STATES"),
    "sort": partial(resolve_name, "shortloop.cli.lookup.jobs:ORDERS"),
    "number": _runs,
}
"""By the name of the parameter, or of one command's; None: the shell offers files."""
