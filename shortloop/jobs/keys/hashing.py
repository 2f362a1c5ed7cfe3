"""Hashes of large files, several read at the same time."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

__all__ = ["Tell", "hash_file", "hash_files"]

Tell = Callable[[int, int, int, float], None]
"""Is told while files are read: how many, bytes read, bytes in all, seconds since the start."""

CHUNK = 2**20
TELL_EVERY = 0.25  # s


def hash_files(sizes: Mapping[Path, int], tell: Tell | None = None) -> Iterator[tuple[Path, str]]:
    """Hash files, several at the same time, the largest first.

    Parameters
    ----------
    sizes : mapping of Path to int
        Bytes of each file.
    tell : callable, optional
        Is told how far it is.

    Yields
    ------
    file : Path
    found : str
        Hexadecimal SHA-256.

    Raises
    ------
    OSError
        If one cannot be read.
    """
    started, stop, done, lock = time.monotonic(), threading.Event(), [0], threading.Lock()

    def step(size: int) -> None:
        if stop.is_set():
            raise InterruptedError
        with lock:
            done[0] += size

    pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)))  # hashing lets other threads run
    try:
        largest_first = sorted(sizes, key=lambda file: -sizes[file])
        futures = {pool.submit(hash_file, file, step): file for file in largest_first}
        pending = set(futures)
        while pending:
            ready, pending = wait(pending, TELL_EVERY, FIRST_EXCEPTION)
            for future in ready:
                yield futures[future], future.result()
            if tell is not None:
                tell(len(sizes), done[0], sum(sizes.values()), time.monotonic() - started)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def hash_file(file: Path, step: Callable[[int], None] = lambda size: None) -> str:
    """Hash a file.

    Parameters
    ----------
    file : Path
        The file.
    step : callable, optional
        Is told of each piece how many bytes it has.

    Returns
    -------
    str
        Hexadecimal SHA-256.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    found = hashlib.sha256()
    chunk = memoryview(bytearray(CHUNK))
    with file.open("rb", buffering=0) as stream:
        try:
            while size := stream.readinto(chunk):
                found.update(chunk[:size])
                step(size)
        except OSError as error:  # of a disk, which does not say of which file
            raise OSError(error.errno, error.strerror, str(file)) from None
    return found.hexdigest()
