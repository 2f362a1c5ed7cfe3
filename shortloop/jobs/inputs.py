"""Input files by content: a job's key holds what a file says, not where it lies or when it was touched.

The content hash is the job's option; where the file is, the job looks up here.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.filestate import file_state
from shortloop.jobs.project import cache_directory, write_atomically

__all__ = ["content_of", "locate", "register"]


def content_of(files: Sequence[Path]) -> list[str]:
    """Content hash of each file.

    A file is read only if its state changed since it was last hashed here, see `file_state`; several are
    read at the same time.

    Parameters
    ----------
    files : sequence of Path
        The files.

    Returns
    -------
    list of str
        Hexadecimal SHA-256, one for each file.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    store = cache_directory("inputs") / "hashes.json"
    known = _read(store)
    fresh = {}

    def hash_of(file: Path) -> str:
        try:
            state, settled = file_state(file)
            entry = known.get(str(file))
            if not isinstance(entry, list) or entry[:-1] != state:
                entry = [*state, _hash(file)]
                if settled:
                    fresh[str(file)] = entry
        except OSError as error:
            raise InputError(
                f"a file cannot be read ({error.strerror})", file=file, hint="check that it exists"
            ) from None
        return str(entry[-1])

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # hashing lets other threads run
        hashes = list(pool.map(hash_of, files))
    if fresh:
        write_atomically(store, json.dumps({**_read(store), **fresh}))
    return hashes


def register(files: Sequence[Path]) -> list[str]:
    """Hash files and note where each content was found, for `locate`.

    Parameters
    ----------
    files : sequence of Path
        The files.

    Returns
    -------
    list of str
        As of `content_of`.
    """
    hashes = content_of(files)
    folder = cache_directory("inputs")
    for file, content in zip(files, hashes, strict=True):
        place = folder / content
        text = str(file.absolute())
        if not place.is_file() or place.read_text(encoding="utf-8") != text:
            write_atomically(place, text)
    return hashes


def locate(content: str) -> Path:
    """The file of a content.

    Parameters
    ----------
    content : str
        A hash that `register` gave.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the file changed or vanished since it was registered, or never was.
    """
    place = cache_directory("inputs") / content
    if not place.is_file():
        raise InputError("nobody knows where a file is", file=place, found=content, hint="run again")
    file = Path(place.read_text(encoding="utf-8"))
    if content_of([file]) != [content]:
        raise InputError("a file changed while the study was running", file=file, hint="run again")
    return file


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read(store: Path) -> dict[str, object]:
    try:
        loaded = json.loads(store.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
