"""Input files by content: a job's key holds what a file says, not where it lies or when it was touched.

The content hash is the job's option; where the file is, the job looks up here.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.filestate import SIZE, file_state
from shortloop.jobs.project import cache_directory, write_atomically

__all__ = ["Tell", "check_located", "content_of", "known_content", "locate", "name_of", "register"]

Tell = Callable[[int, int, int, float], None]
"""Is told while files are read: how many, bytes read, bytes in all, seconds since the start."""

CHUNK = 2**20
TELL_EVERY = 0.25  # s
KEEP_EVERY = 1.0  # s

# What this process has located, by the folder where that is noted.
_located: dict[Path, set[str]] = {}


def content_of(files: Sequence[Path], tell: Tell | None = None) -> list[str]:
    """Content hash of each file.

    A file is read only if its state changed since it was last hashed here, see `file_state`; several are
    read at the same time. What is known when this is interrupted is kept.

    Parameters
    ----------
    files : sequence of Path
        The files.
    tell : callable, optional
        Is told how far it is.

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
    hashes: dict[Path, str] = {}
    states: dict[Path, tuple[list[int], bool]] = {}
    for file in files:
        try:
            states[file] = file_state(file)
        except OSError as error:
            raise _unreadable(file, error) from None
        entry = known.get(str(file))
        if isinstance(entry, list) and entry[:-1] == states[file][0]:
            hashes[file] = str(entry[-1])
    fresh = {}
    kept = time.monotonic()
    try:
        sizes = {file: state[SIZE] for file, (state, _) in states.items() if file not in hashes}
        for file, found in _hash_all(sizes, tell):
            hashes[file] = found
            state, settled = states[file]
            if settled:
                fresh[str(file)] = [*state, found]
            if fresh and time.monotonic() - kept > KEEP_EVERY:
                _keep(store, fresh)
                kept = time.monotonic()
    finally:
        _keep(store, fresh)
    return [hashes[file] for file in files]


def known_content(files: Sequence[Path]) -> list[str]:
    """Content hash of each file, as far as it is known without reading it.

    Parameters
    ----------
    files : sequence of Path
        The files.

    Returns
    -------
    list of str
        As of `content_of`; empty for a file that is new or changed since it was last hashed.
    """
    known = _read(cache_directory("inputs") / "hashes.json")

    def one(file: Path) -> str:
        entry = known.get(str(file))
        same = isinstance(entry, list) and file.exists() and entry[:-1] == file_state(file)[0]
        return str(entry[-1]) if isinstance(entry, list) and same else ""

    return [one(file) for file in files]


def name_of(content: str) -> str:
    """Name of the file that a content was last found in, for messages.

    Parameters
    ----------
    content : str
        A hash that `register` gave.

    Returns
    -------
    str
        The start of the hash if nobody knows.
    """
    try:
        return Path((cache_directory("inputs") / content).read_text(encoding="utf-8")).name
    except OSError:
        return f"{content[:12]}…"


def register(files: Sequence[Path], tell: Tell | None = None) -> list[str]:
    """Hash files and note where each content was found, for `locate`.

    Parameters
    ----------
    files, tell
        As of `content_of`.

    Returns
    -------
    list of str
        As of `content_of`.
    """
    hashes = content_of(files, tell)
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
        raise InputError("nobody knows where a file is", found=content, hint="run again")
    file = Path(place.read_text(encoding="utf-8"))
    if content_of([file]) != [content]:
        raise InputError("a file changed while the study was running", file=file, hint="run again")
    _located.setdefault(place.parent, set()).add(content)
    return file


def check_located() -> None:
    """Check that the files which this process has located are still what they were.

    Raises
    ------
    InputError
        As of `locate`.
    """
    if _located:
        for content in sorted(_located.get(cache_directory("inputs"), ())):
            locate(content)


def _hash_all(sizes: dict[Path, int], tell: Tell | None) -> Iterator[tuple[Path, str]]:
    """Each file with its hash, in any order."""
    started, stop, done, lock = time.monotonic(), threading.Event(), [0], threading.Lock()

    def step(size: int) -> None:
        if stop.is_set():
            raise InterruptedError
        with lock:
            done[0] += size

    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))  # hashing lets other threads run
    try:
        largest_first = sorted(sizes, key=lambda file: -sizes[file])
        futures = {pool.submit(_hash, file, step): file for file in largest_first}
        pending = set(futures)
        while pending:
            ready, pending = wait(pending, TELL_EVERY, FIRST_EXCEPTION)
            for future in ready:
                try:
                    yield futures[future], future.result()
                except OSError as error:
                    raise _unreadable(futures[future], error) from None
            if tell is not None:
                tell(len(sizes), done[0], sum(sizes.values()), time.monotonic() - started)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _hash(file: Path, step: Callable[[int], None]) -> str:
    found = hashlib.sha256()
    chunk = memoryview(bytearray(CHUNK))
    with file.open("rb", buffering=0) as stream:
        while size := stream.readinto(chunk):
            found.update(chunk[:size])
            step(size)
    return found.hexdigest()


def _unreadable(file: Path, error: OSError) -> InputError:
    return InputError(f"a file cannot be read ({error.strerror})", file=file, hint="check that it exists")


def _keep(store: Path, fresh: dict[str, list[object]]) -> None:
    if fresh:
        write_atomically(store, json.dumps({**_read(store), **fresh}))


def _read(store: Path) -> dict[str, object]:
    try:
        loaded = json.loads(store.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
