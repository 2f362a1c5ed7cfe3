"""Content that lies in several places: jobs and their messages name the file that this run gives, not the one
in which another study found the same."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from shortloop.jobs.pipeline import Built
from shortloop.jobs.project import configuration, project_directory
from shortloop.jobs.store.lookup import open_any
from shortloop.worker.inputs import File
from shortloop.worker.renamed import renamed

__all__ = ["files_of", "named_files", "names_of", "options_of", "problem_of"]


def files_of(arguments: object) -> dict[str, Path]:
    """Where the files are that a job is given.

    Parameters
    ----------
    arguments : object
        Files, and lists, tuples and dicts with files in them.

    Returns
    -------
    dict of str to Path
        By their content, as far as it is known.
    """
    return {file.content: file.path for file in _files(arguments) if file.content}


def options_of(arguments: object) -> list[tuple[str, Path]]:
    """The same by what options hold of each: contents first, then contents with names.

    Parameters
    ----------
    arguments : object
        As of `files_of`.

    Returns
    -------
    list of tuple of (str, Path)
    """
    return [*files_of(arguments).items(), *((file.option, file.path) for file in _files(arguments))]


def named_files(contents: Iterable[str], paths: Sequence[Path]) -> list[File]:
    """Files as stages are given them.

    Parameters
    ----------
    contents : iterable of str
        Content of each; empty if it is not known.
    paths : sequence of Path
        Where they are.

    Returns
    -------
    list of File
    """
    above = [str(project_directory()), configuration().get("input_directory") or ""]
    begin = [f"{os.path.abspath(folder)}/" for folder in above if folder]

    def name(path: Path) -> str:
        whole = os.path.abspath(path)
        return next((whole.removeprefix(each) for each in begin if whole.startswith(each)), whole)

    return [File(content, path, name(path)) for content, path in zip(contents, paths, strict=True)]


def names_of(arguments: object) -> tuple[str, ...]:
    """Names of the files that a job is given.

    Parameters
    ----------
    arguments : object
        As of `files_of`.

    Returns
    -------
    tuple of str
        In the order in which they are given; also of files that nobody has read yet.
    """
    return tuple(file.path.name for file in _files(arguments))


def problem_of(rejected: Built, above: Iterable[Built], files: Mapping[str, Path]) -> str:
    """Why a job rejected its input, with the names that its files have now.

    Parameters
    ----------
    rejected : Built
        The job.
    above : iterable of Built
        What it was made from.
    files : mapping of str to Path
        Files of this run by their content.

    Returns
    -------
    str
    """
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
    if isinstance(value, File):
        yield value
    elif isinstance(value, Mapping):
        yield from _files(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files(each)


def _entries(lists: Iterable[object]) -> Iterator[Mapping[str, str]]:
    for each in lists:
        for entry in each if isinstance(each, list) else ():
            if isinstance(entry, dict) and {"name", "content"} <= entry.keys():
                yield entry
