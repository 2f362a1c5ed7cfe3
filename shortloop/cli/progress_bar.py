"""Progress of slow commands: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from shortloop.cli.tables import duration

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Waiting"]

WORTH_A_WORD = 2.0  # s
LINE_EVERY = 10.0  # s, off a terminal


class Waiting:
    """Says how far something is; a context manager.

    done: what is done with each thing, e.g. ``"opened"``.
    """

    def __init__(self, done: str) -> None:
        self._done = done
        self._began = self._said = time.monotonic()
        self._total = 0
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def tell(self, done: int, total: int) -> None:
        """Take note of how far it is."""
        now = time.monotonic()
        if total != self._total:
            self._stop()
            self._total, self._began, self._said = total, now, now
        if now - self._began < WORTH_A_WORD:
            return
        if sys.stderr.isatty():
            self._draw(done)
        elif now - self._said >= LINE_EVERY and 0 < done < total:
            self._said = now
            left = (now - self._began) * (total - done) / done
            print(f"{self._done} {done:,} of {total:,}, {duration(left)} left", file=sys.stderr, flush=True)

    def _draw(self, done: int) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn(self._done), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            bar = Progress(*columns, console=Console(stderr=True), transient=True)
            bar.start()
            self._bar = bar, bar.add_task("", total=self._total)
        self._bar[0].update(self._bar[1], completed=done)

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None
