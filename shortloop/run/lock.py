"""Lock of a run, held by one thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from shortloop.exax import client


class _Lock:
    """A lock that knows which thread holds it. Any thread may release it: a pipeline may build from threads.

    An exception that a signal raises may keep the main thread from the lock at the end of a wait. A condition
    takes any held lock for its own, and would release that of a job's thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.holder = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        is_held = self._lock.acquire(blocking, timeout)
        if is_held:
            self.holder = threading.get_ident()
        return is_held

    def release(self) -> None:
        self.holder = 0
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *error: object) -> None:
        self.release()


class Turn:
    """Lock of a run, whose store, index and caches are written for one thread at a time."""

    def __init__(self) -> None:
        self._lock = _Lock()
        self.changed = threading.Condition(cast("threading.Lock", self._lock))
        self._waiting = 0
        self._is_alone = False
        self._jobs: set[int] = set()  # threads

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let others go on within the block, which waits for a job."""
        self.changed.wait_for(lambda: not self._is_alone)
        self._waiting += 1
        self.changed.release()
        try:
            yield
        finally:
            self.changed.acquire()
            self._waiting -= 1
            self.changed.notify_all()

    @contextmanager
    def others(self) -> Iterator[None]:
        """Let others go on within the block, which does not wait for a job."""
        self.changed.release()
        try:
            yield
        finally:
            self.changed.acquire()

    @contextmanager
    def of_job(self) -> Iterator[None]:
        """Hold the lock within the block, in a thread that builds a job."""
        me = threading.get_ident()
        self._jobs.add(me)
        try:
            with self.changed:
                try:
                    yield
                finally:
                    self.changed.notify_all()
        finally:
            self._jobs.discard(me)

    def regain(self, seconds: float) -> None:
        """Take the lock again if a signal kept the main thread from it at the end of a wait."""
        if not self._lock.holder or self._lock.holder in self._jobs:
            self._lock.acquire(timeout=seconds)

    def reload(self) -> None:
        """Have exax reload the methods when no job of this run is running, and let none start meanwhile."""
        self.changed.wait_for(lambda: not self._is_alone)
        self._is_alone = True
        try:
            self.changed.wait_for(lambda: not self._waiting)
        finally:
            self._is_alone = False
            self.changed.notify_all()
        client.reload_methods()
