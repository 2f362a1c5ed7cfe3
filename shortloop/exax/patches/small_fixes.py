"""Apply all patches when exax starts, for the versions of exax they support.

Made for exax 2025.11.11. Upstream: all but `board_later` mend faults of exax, and could go there as they
are: patterns in folders' names, ends of lines, locks, `multiprocessing`'s folder.
"""

from __future__ import annotations

import functools
import glob
import multiprocessing
import os
import shutil
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterable
from multiprocessing.process import current_process
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError

__all__ = [
    "KNOWN_VERSIONS",
    "SOCKET_PATH_LIMIT",
    "board_later",
    "keep_line_ends",
    "leave_nothing_behind",
    "one_at_a_time",
    "read_few_jobs_itself",
    "refuse_unknown_version",
    "take_folders_literally",
]

KNOWN_VERSIONS = ("2025.11.11",)
"""Versions of exax that the patches of this package were tried with; pyproject.toml requires one of them."""
SOCKET_PATH_LIMIT = 107  # of Linux; an address longer than that cannot be bound
BOARD_AFTER = 2.0  # s; a run that builds nothing has ended by then
FEW = 2_000  # jobs; to start processes that read them takes longer than to read them


def refuse_unknown_version() -> None:
    """Raise InputError for a version of exax that the patches are not made for."""
    import accelerator

    version = getattr(accelerator, "__version__", None)
    if version not in KNOWN_VERSIONS:
        raise InputError(
            "unknown version of exax (the package accelerator), whose server Shortloop patches",
            found=version or "no version",
            expected=" or ".join(KNOWN_VERSIONS),
            hint=f"pip install 'accelerator=={KNOWN_VERSIONS[-1]}', or a Shortloop made for your version",
        )


def board_later() -> None:
    """Let the server, which is about to start, start the board a moment later: the page that shows jobs is
    imported by a process of its own, which would take a core from a run that waits for the server."""
    from accelerator import board

    original = board.run

    @functools.wraps(original)
    def run(*arguments: Any) -> None:  # in that process
        time.sleep(BOARD_AFTER)
        original(*arguments)

    board.run = run


def take_folders_literally() -> None:
    """Let exax, as far as it is loaded, find methods, build scripts and lists of builds in folders with names
    like ``paper [v2]``, which it takes for patterns."""
    for name, depth in (("methods", 1), ("shell.script", 1), ("urd", 2)):
        module: Any = sys.modules.get(f"accelerator.{name}")
        if module is not None:
            module.glob = functools.partial(_below, depth)


def _below(depth: int, pattern: str) -> list[str]:
    """Files of a pattern whose last so many parts alone are one."""
    folder, *names = pattern.rsplit("/", depth)
    return glob.glob("/".join([glob.escape(folder), *names]))


def keep_line_ends() -> None:
    """Have exax's pseudo-terminals pass on the ends of lines as they are, and not as CR LF: the terminal
    behind them, if there is one, does that."""
    from accelerator import iowrapper

    original = iowrapper.openpty

    @functools.wraps(original)
    def openpty() -> tuple[int, int]:
        ours, theirs = original()
        modes = termios.tcgetattr(theirs)
        modes[1] &= ~termios.ONLCR
        termios.tcsetattr(theirs, termios.TCSANOW, modes)
        return ours, theirs

    iowrapper.openpty = openpty


def read_few_jobs_itself() -> None:
    """Let the server, which looks for new jobs whenever it loads the methods, start processes that read them
    only if there are many."""
    from accelerator import control

    control.multiprocessing = _Multiprocessing


def one_at_a_time() -> None:
    """Let the server, which answers many clients at once, do one after the other what needs that.

    Two that have it load the methods would end each other's. A job that starts meanwhile would be forked by
    a process that has not loaded its method. And a job's folder that is made while the server lists the
    workdir would be forgotten, and its id given once more.
    """
    from accelerator.control import Main
    from accelerator.workspace import WorkSpace

    loading, listing = threading.Lock(), threading.Lock()
    _change(Main, "update_methods", lambda original: _within(loading, original))
    _change(Main, "run_job", lambda original: _after(loading, original))
    for name in ("update", "allocate_jobs"):
        _change(WorkSpace, name, lambda original: _within(listing, original))


def leave_nothing_behind(folder: Path) -> None:
    """Keep multiprocessing's socket in a folder of the project, emptied whenever a server starts.

    exax ends by a signal that no clean-up survives, and each server would leave a folder in /tmp.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if len(os.fsencode(folder.resolve() / "listener-12345678")) <= SOCKET_PATH_LIMIT:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        current_process()._config["tempdir"] = str(folder.resolve())  # type: ignore[attr-defined]


class _Multiprocessing:
    """In place of the module, as far as the server uses it."""

    @staticmethod
    def get_context(method: str) -> Any:
        class Context:
            Pool = functools.partial(_LazyPool, method)

        return Context


class _LazyPool:
    """Starts its processes when there is much to do."""

    def __init__(self, method: str, **more: Any) -> None:
        self._start = functools.cache(functools.partial(multiprocessing.get_context(method).Pool, **more))

    def imap(self, function: Callable[[Any], Any], items: Iterable[Any], chunksize: int) -> Iterable[Any]:
        items = list(items)
        few = len(items) <= FEW
        return map(function, items) if few else self._start().imap(function, items, chunksize)

    imap_unordered = imap

    def close(self) -> None:
        if self._start.cache_info().currsize:
            self._start().close()


def _change(kind: type, name: str, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    original = getattr(kind, name)
    setattr(kind, name, functools.wraps(original)(change(original)))


def _within(lock: threading.Lock, original: Callable[..., Any]) -> Callable[..., Any]:
    def alone(*arguments: Any, **more: Any) -> Any:
        with lock:
            return original(*arguments, **more)

    return alone


def _after(lock: threading.Lock, original: Callable[..., Any]) -> Callable[..., Any]:
    def later(*arguments: Any, **more: Any) -> Any:
        with lock:  # not for as long as it runs: that it can be cut off is another matter
            pass
        return original(*arguments, **more)

    return later
