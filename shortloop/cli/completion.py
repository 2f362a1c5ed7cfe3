"""Command-line completion for bash, zsh and fish.

The shells ask through Typer's scripts, which `--install-completion` installs. Typer's own answer parses the
line with pydantic and renders help with rich, which takes longer than a key press should.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

VARIABLE = "_SHORTLOOP_COMPLETE"
ASKED = tuple(f"complete_{shell}" for shell in ("bash", "zsh", "fish"))
ZSH = str.maketrans({'"': '""', "'": "''", "$": r"\$", "`": r"\`", ":": r"\\:"})
FILES_OF = ("run", "plan", "harmless")  # commands whose --settings is a file; for others it is a name


Candidate = tuple[str, str]  # a word and its help


def is_requested() -> bool:
    return os.environ.get(VARIABLE) in ASKED


def complete(group: Any) -> int:
    """Print completions, and return the exit status: 1 if fish should offer files."""
    _, _, shell = os.environ[VARIABLE].partition("_")
    words, prefix = _words(shell)
    try:
        found = [each for each in _candidates(group, words, prefix) if each[0].startswith(prefix)]
    except Exception:  # no project, or an unreadable one: print no error at a prompt
        found = []
    if shell == "zsh":
        escaped = ([f'"{part.translate(ZSH)}"' for part in each if part] for each in found)
        listed = "\n".join(map(":".join, escaped))
        print(f"_arguments '*: :(({listed}))'" if found else "_files")
    elif shell == "fish" and os.environ.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return 0 if found else 1
    elif shell == "fish":
        print("\n".join("\t".join(filter(None, each)) for each in found))
    else:
        print("\n".join(re.sub(r"([^\w@%+=:,./-])", r"\\\1", word) for word, _ in found))
    return 0


def _words(shell: str) -> tuple[list[str], str]:
    """The words before the cursor without the command, and the beginning of the completed word."""
    if shell == "bash":
        place = int(os.environ["COMP_CWORD"])
        words = _split(os.environ["COMP_WORDS"])
        words, prefix = words[1:place], "".join(words[place : place + 1])
        if prefix == "=":  # a separate word in bash
            prefix = ""
        return [word for word in words if word != "="], prefix
    line = os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = _split(line)[1:]
    prefix = words.pop() if words and not line.endswith(" ") else ""
    return words, prefix


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # within quotes
        return line.split()


def _candidates(group: Any, words: Sequence[str], prefix: str) -> Iterator[Candidate]:
    place = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    command = group if place is None else group.commands[words[place]]
    given = words if place is None else words[place + 1 :]
    options = {name: each for each in command.params if _is_option(each) for name in each.opts}
    name, equals, _ = prefix.partition("=")
    if equals and name in options:
        yield from ((f"{name}={each}", "") for each in _values(command.name, options[name].name))
    elif given and _takes_value(options.get(given[-1])):
        yield from ((each, "") for each in _values(command.name, options[given[-1]].name))
    elif prefix.startswith("-"):
        yield from _options(options, given)
    elif command is group:
        yield from ((each, _first_line(one.help)) for each, one in group.commands.items())
    else:
        values = [place for place, word in enumerate(given, 1) if _takes_value(options.get(word))]
        plain = [word for place, word in enumerate(given) if not word.startswith("-") and place not in values]
        arguments = [each for each in command.params if not _is_option(each)]
        for argument in arguments[len(plain) : len(plain) + 1]:
            yield from ((each, "") for each in _values(command.name, argument.name))


def _options(options: dict[str, Any], given: Sequence[str]) -> Iterator[Candidate]:
    used = {word.partition("=")[0] for word in given}
    for name, option in options.items():
        again = option.multiple or not used & set(option.opts)
        if name.startswith("--") and again and not getattr(option, "hidden", False):
            yield name, _first_line(option.help)
    if "--help" not in options:
        yield "--help", "Show this message and exit."


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


def _takes_value(option: Any) -> bool:
    return option is not None and not option.is_flag


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _values(command: str, parameter: str) -> Iterable[str]:
    """Values of a parameter; none if the shell should offer files."""
    if parameter == "settings" and command in FILES_OF:
        return ()
    if command == "why" and parameter == "job":
        return _jobs_and_stages()
    return VALUES[parameter]() if parameter in VALUES else ()


def _scripts() -> list[str]:
    from shortloop.keys.methods import own_scripts

    return [name for each in own_scripts() for name in (each.removeprefix("build_"), each)]


def _jobs() -> list[str]:
    from shortloop.project.project import configuration, job_folders

    workdirs = {name: Path(path) for name, path in configuration().workdirs.items()}
    return [folder.name for folder in job_folders(workdirs)][::-1]


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


def _states() -> Iterable[str]:
    from shortloop.upkeep.inventory import STATES

    return STATES


def _orders() -> Iterable[str]:
    from shortloop.cli.jobs import ORDERS

    return ORDERS


def _runs() -> list[str]:
    from shortloop.run.runs import run_numbers

    return [str(number) for number in run_numbers()][::-1]


_settings = partial(_indexed, "settings", "pipelines")
_stages = partial(_indexed, "stage")


def _jobs_and_stages() -> list[str]:
    return [*_stages(), *_jobs()]


VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "script": _scripts,
    "job": _jobs,
    "first": _jobs,
    "second": _jobs,
    "force": _jobs_and_stages,
    "stage": _stages,
    "until": _stages,
    "only": _stages,
    "partition": partial(_indexed, "partition"),
    "settings": _settings,
    "forget": _settings,
    "state": _states,
    "sort": _orders,
    "number": _runs,
}
"""By the name of the parameter."""
