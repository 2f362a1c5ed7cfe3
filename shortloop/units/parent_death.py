"""Processes that end with their parent."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

__all__ = ["ends_with_this", "forks_end_with_this"]

PR_SET_PDEATHSIG = 1  # of prctl(2)


def ends_with_this() -> Callable[[], None]:
    """For ``preexec_fn``: have the new process end when this one does."""
    follow, parent = _follower(), os.getpid()
    return lambda: follow(parent)


def forks_end_with_this() -> None:
    """From now on, have forks of this process, and their forks, end when their parent does.

    A server that is killed thus ends the process that loads methods, and so a job and its slices, which would
    otherwise go on and write for nobody.
    """
    follow, parent = _follower(), os.getpid()

    def note_parent() -> None:
        nonlocal parent
        parent = os.getpid()

    os.register_at_fork(before=note_parent, after_in_child=lambda: follow(parent))


def _follower() -> Callable[[int], None]:
    if not sys.platform.startswith("linux"):
        return lambda parent: None
    prctl = ctypes.CDLL(None).prctl

    def follow(parent: int) -> None:
        # Not SIGKILL: exax's process that keeps what a job prints outlives it a moment, and ignores this.
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)

    return follow
