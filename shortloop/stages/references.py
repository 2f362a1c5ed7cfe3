"""Input files that a unit's data refer to.

A unit may hold a path, or a word that it makes a path of, in place of what is in the file.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from shortloop.stages.inputs import File

__all__ = ["References", "files_in", "here", "matching", "refer_to"]

MOST_MARKS = 20  # parts of names that are looked for in every text
SIZE = 20


class References:
    """The input files of a stage, by the texts that name them.

    files: all of them.
    described: says all that the job is made from: what no unit can do without knowing.
    """

    def __init__(self, files: Iterable[File] = (), described: Callable[[], str] = str) -> None:
        self.files = list(files)
        self.changed: list[str] = []
        """State of the process that opening the stage has changed."""
        self.joined: set[Path] = set()
        """Files whose content is in the keys that were made last."""
        self.opened: set[Path] = set()
        """Files that the last unit has opened."""
        self.state: Mapping[str, object] | None = None
        """State of the process before the first unit."""
        self.is_left = False
        """Whether a unit has opened a file and left state behind, so that others may depend on it."""
        self._ids: dict[tuple[int, int], Path] = {}
        self._described = described
        self._all = b""
        self._found: tuple[_Names, _Names, str, tuple[str, ...]] | None = None

    def all_inputs(self) -> bytes:
        """A hash of all that the job is made from."""
        self.joined.update(each.path for each in self.files)
        if not self._all:
            self._all = hashlib.blake2b(self._described().encode(), digest_size=SIZE).digest()
        return self._all

    def of_text(self, text: str, is_word: bool) -> list[File] | None:
        """Files that a text names."""
        if not self.files:
            return []
        paths, words, everything, marks = self._found or self._names()
        found = paths.get(text) or (words.get(text) if is_word else None)
        if found is None and "/" in text:
            part = f"/{os.path.normpath(text).strip('/')}/"
            if part in everything:
                found = [each for each in self.files if part in f"/{each.path}/"]
        if found:
            return found
        return None if any(mark in text for mark in marks) else []

    def read(self, path: str) -> None:
        """Note that a library reads a file, a folder with all that is in it, or the files of a pattern."""
        if self.files:
            for each in matching(path):
                self.open(each)

    def open(self, path: str | bytes | os.PathLike[str]) -> None:
        """Note that a file is opened, if it is one of these by whatever path."""
        try:
            if not self._ids:
                self._ids = {_id(each.path): each.path for each in self.files}
            found = self._ids.get(_id(path))
        except (OSError, ValueError, TypeError):
            return
        if found is not None:
            self.opened.add(found)

    def of_path(self, path: str) -> list[File] | None:
        """The same of a path, which names a file in any case."""
        return self.of_text(path, True) or self.of_text(os.path.realpath(path), True) or None

    def _names(self) -> tuple[_Names, _Names, str, tuple[str, ...]]:
        paths: _Names = {}
        words: _Names = {}
        for file in self.files:
            whole = str(file.path)
            for path in dict.fromkeys((whole, os.path.realpath(whole))):
                parts = path.split("/")
                for start in range(len(parts)):
                    paths.setdefault("/".join(parts[start:]), []).append(file)
            for word in {*file.path.parent.parts, file.path.stem}:
                words.setdefault(word, []).append(file)
        telling = {word: files for word, files in words.items() if len(files) < len(self.files)}
        telling |= {each.path.stem: words[each.path.stem] for each in self.files}
        everything = "".join(f"/{each.path}/\n" for each in self.files).replace("//", "/")
        marks = {each.path.suffix or f"/{each.path.name}" for each in self.files}
        self._found = paths, telling, everything, tuple(marks) if len(marks) <= MOST_MARKS else ("/",)
        return self._found


def _id(path: str | bytes | os.PathLike[str]) -> tuple[int, int]:
    state = os.stat(path)
    return state.st_dev, state.st_ino


_Names = dict[str, list[File]]
_here = References()


def here() -> References:
    """Those of the stage that this process has opened."""
    return _here


def refer_to(references: References) -> None:
    """From now on, this process has opened a stage with these."""
    global _here
    _here = references


def matching(path: str) -> Iterator[str]:
    """Paths that a reader of files may open for a path."""
    if os.path.isdir(path):
        yield from glob.iglob(f"{glob.escape(path)}/**", recursive=True)
    elif os.path.lexists(path) or not glob.has_magic(path):
        yield path
    else:
        yield from glob.iglob(path, recursive=True)


def files_in(value: object) -> Iterator[File]:
    """Files among options, also inside of lists, dicts and records."""
    if isinstance(value, File):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from files_in(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from files_in(each)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        for each in vars(value).values():
            yield from files_in(each)
