"""Hashes of files, read in parallel, and of plain data."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager as ContextManager
from contextlib import nullcontext
from pathlib import Path

from blake3 import blake3

from shortloop.base.plain import Plain

Tell = Callable[[int, int, int, float], None]
"""Is told while files are read: how many, bytes read, bytes in all, seconds since the start."""

Waiting = Callable[[], ContextManager[None]]

CHUNK = 2**20
TELL_EVERY = 0.1  # s


def hash_files(
    sizes: Mapping[Path, int], tell: Tell | None = None, waiting: Waiting = nullcontext
) -> Iterator[tuple[Path, str]]:
    """Hash files in parallel, the largest first."""
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
            with waiting():
                ready, pending = wait(pending, TELL_EVERY, FIRST_EXCEPTION)
            for future in ready:
                yield futures[future], future.result()
            if tell is not None:
                tell(len(sizes), done[0], sum(sizes.values()), time.monotonic() - started)
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def hash_file(file: Path, step: Callable[[int], None] = lambda size: None) -> str:
    """BLAKE3 of a file, in one thread: others are at work."""
    found = blake3()
    chunk = memoryview(bytearray(CHUNK))
    with file.open("rb", buffering=0) as stream:
        try:
            while size := stream.readinto(chunk):
                found.update(chunk[:size])
                step(size)
        except OSError as error:  # of a disk, which does not say of which file
            raise OSError(error.errno, error.strerror, str(file)) from None
    return found.hexdigest()


def canonical(plain: Plain) -> str:
    """Serialise plain data, the same for equal data."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def digest(plain: Plain) -> str:
    return hashlib.blake2b(canonical(plain).encode(), digest_size=20).hexdigest()
