"""Progress of a sweep: a line for each finished combination.

No thread draws it: a run is a fork, which could deadlock if a thread held a lock at that moment.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shortloop.base.text import counted, duration, one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from shortloop.sweep.findings import Outcome


TAIL = 4096  # bytes at the end of a run's output that contain its last line
DONE = re.compile(rb"^\[(\d+)/(\d+)\] ", re.M)  # progress of a run without a terminal


class Progress:
    """Progress of a sweep of `total` combinations, in a terminal if there is one."""

    def __init__(self, total: int, console: Console | None = None) -> None:
        self._total = total
        self._console = console
        self._seconds: list[float] = []

    @contextmanager
    def checking(self) -> Iterator[Callable[[], None]]:
        """Show progress while combinations are checked."""
        done = 0

        def line() -> str:
            nonlocal done
            done += 1
            return f"checking combinations: {done} of {self._total}"

        with self._shown(line) as show:
            yield show

    @contextmanager
    def running(self, label: str, output: Path) -> Iterator[Callable[[], None]]:
        """Show progress while a combination runs."""
        began, place = time.monotonic(), len(self._seconds) + 1

        def line() -> str:
            jobs, seconds = _jobs(output), time.monotonic() - began
            parts = [f"{place} of {self._total}: {label}", jobs, duration(seconds), self.left(seconds)]
            return "  ".join(filter(None, parts))

        with self._shown(line) as show:
            yield show

    def done(self, outcome: Outcome) -> str:
        """The line of a finished combination."""
        self._seconds.append(outcome.seconds)
        what = f"{counted(outcome.built, 'job')} built, {outcome.reused} reused, {duration(outcome.seconds)}"
        if outcome.problem:
            what = f"failed after {duration(outcome.seconds)}: {first_line(outcome.problem)}"
        line = f"{len(self._seconds)} of {self._total}: {outcome.combination.label}: {what}"
        return one_line("; ".join(filter(None, (line, self.left()))))

    def left(self, running: float = 0.0) -> str:
        """Estimated remaining time, from finished runs without the first, which builds what all share."""
        known = self._seconds[1:] or self._seconds
        number = self._total - len(self._seconds)
        if not known or not number:
            return ""
        mean = sum(known) / len(known)
        seconds = max(0.0, mean - running) + mean * (number - 1)
        return f"about {duration(seconds)} left" if seconds >= 1 else ""

    @contextmanager
    def _shown(self, line: Callable[[], str]) -> Iterator[Callable[[], None]]:
        if self._console is None:
            yield lambda: None
            return
        from rich.live import Live
        from rich.text import Text

        def text() -> Text:
            return Text(one_line(line()), no_wrap=True, overflow="ellipsis")

        with Live(console=self._console, transient=True, auto_refresh=False) as live:
            yield lambda: live.update(text(), refresh=True)


def first_line(problem: str) -> str:
    """One line of an error: its first, or the last of a traceback."""
    lines = [*filter(None, map(str.strip, problem.splitlines()))] or [""]
    return lines[-1] if any(line.startswith("Traceback") for line in lines) else lines[0]


def _jobs(output: Path) -> str:
    try:
        with output.open("rb") as stream:
            stream.seek(max(0, output.stat().st_size - TAIL))
            found = DONE.findall(stream.read())
    except OSError:
        return ""
    return f"{int(found[-1][0])} of {int(found[-1][1])} jobs" if found else ""
