"""Identical files in several places: jobs and messages name the file given in this run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType

from shortloop.plan.pipeline import Built
from shortloop.project.project import configuration, project_directory
from shortloop.stages.inputs import File, renamed
from shortloop.store.lookup import open_any

__all__ = ["files_of", "named_files", "names_of", "options_of", "problem_of", "unread_in"]

PLAIN = {str, int, float, bool, NoneType}


def files_of(arguments: object) -> dict[str, Path]:
    """Where the files are that a job is given."""
    return {file.content: file.path for file in _files(arguments) if file.content}


def options_of(arguments: object) -> list[tuple[str, Path]]:
    """The same by what options hold of each: contents first, then contents with names."""
    return [*files_of(arguments).items(), *((file.option, file.path) for file in _files(arguments))]


def named_files(contents: Iterable[str], paths: Sequence[Path]) -> list[File]:
    """Files as stages are given them."""
    above = [str(project_directory()), configuration().get("input_directory") or ""]
    begin = [f"{os.path.abspath(folder)}/" for folder in above if folder]

    def name(path: Path) -> str:
        whole = os.path.abspath(path)
        return next((whole.removeprefix(each) for each in begin if whole.startswith(each)), whole)

    return [File(content, path, name(path)) for content, path in zip(contents, paths, strict=True)]


def names_of(arguments: object) -> tuple[str, ...]:
    """Names of the files that a job is given."""
    return tuple(file.path.name for file in _files(arguments))


def unread_in(arguments: object) -> bool:
    """True if a job is given a file whose content is not known yet."""
    return any(not file.content for file in _files(arguments))


def problem_of(rejected: Built, above: Iterable[Built], files: Mapping[str, Path]) -> str:
    """Why a job rejected its input, with the names that its files have now."""
    record = open_any(rejected.path).record
    known = [*record.get("located", {}).items()]
    for job in above:
        named = open_any(job.path).record["facts"].get("files", {})  # of a method of others, none
        lists = named.values() if isinstance(named, dict) else ()
        known += [(each["content"], each["name"]) for each in _entries(lists)]
    now: dict[str, str] = {}
    for content, old in known:
        if content in files:
            new = files[content]
            now |= {old: str(new.absolute()) if "/" in old else new.name, Path(old).name: new.name}
    return renamed(str(record["problem"]), now)


def _files(value: object) -> Iterator[File]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, File):
            yield each
        elif isinstance(each, dict | list | tuple):
            waiting += reversed(each.values() if isinstance(each, dict) else each)
        elif type(each) not in PLAIN and isinstance(each, Mapping):
            waiting += reversed(list(each.values()))


def _entries(lists: Iterable[object]) -> Iterator[Mapping[str, str]]:
    for each in lists:
        for entry in each if isinstance(each, list) else ():
            if isinstance(entry, dict) and {"name", "content"} <= entry.keys():
                yield entry
