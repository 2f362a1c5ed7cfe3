"""How far a run is: a bar over all jobs with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

__all__ = ["Progress", "terminal_width"]


def terminal_width() -> int | None:
    """Columns of the terminal that standard output goes to.

    Returns
    -------
    int or None
        None where it is no terminal.
    """
    return _WIDTH


def _width() -> int | None:
    try:
        return os.get_terminal_size(1).columns or 80 if os.isatty(1) else None
    except OSError:
        return None


# exax gives a build script a pseudo-terminal for its output, so the real one is asked for on import.
_WIDTH = _width()


class Progress:
    """Progress of a run; a context manager.

    Parameters
    ----------
    stages : sequence of str
        Stage of each job to come, in order.
    history : mapping of str to float
        Seconds that a job of each stage took before.
    """

    def __init__(self, stages: Sequence[str], history: Mapping[str, float]) -> None:
        self._left = list(stages)
        self._total = len(stages)
        self._history = dict(history)
        self._seen: dict[str, list[float]] = defaultdict(list)
        self._built: dict[str, bool] = {}
        self._building = False
        self._bar: Any = None

    def __enter__(self) -> Progress:
        width = terminal_width()
        if width is not None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"),
                console=Console(file=sys.stdout, force_terminal=True, width=width),
                transient=True,
                refresh_per_second=4,
            )
            self._task = self._bar.add_task("starting", total=self._total, left="")
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, stage: str, participant: str | None) -> None:
        """A job is asked for.

        Parameters
        ----------
        stage : str
            Its stage.
        participant : str or None
            Whose data; None: everybody's.
        """
        if self._bar is not None:
            what = f"{stage} {participant}" if participant else stage
            self._bar.update(self._task, description=f"{what:<26}", left=self._time_left())

    def end(self, stage: str, seconds: float, line: str | None) -> None:
        """A job is there.

        Parameters
        ----------
        stage : str
            Its stage.
        seconds : float
            How long it took to get it.
        line : str or None
            What to print; None if it was not built but reused.
        """
        if stage in self._left:
            self._left.remove(stage)
        self._building = line is not None
        if self._built.setdefault(stage, self._building) is not self._building:
            self._seen[stage].clear()  # a reused job says nothing of one that is built
        self._built[stage] = self._building
        self._seen[stage].append(seconds)
        if self._bar is not None:
            if line is not None:
                self._bar.console.print(line, highlight=False, markup=False)
            self._bar.update(self._task, advance=1, left=self._time_left())
        elif line is not None:
            print(f"[{self._total - len(self._left)}/{self._total}] {line}", flush=True)

    def seconds_left(self) -> float:
        """Expected seconds of the jobs to come.

        A stage that this run has seen goes on as its last jobs did; one that is still to come takes what
        it took before, if jobs are being built now, and nothing if they are reused.

        Returns
        -------
        float
        """
        total = 0.0
        for stage in self._left:
            if self._seen[stage]:
                total += sum(self._seen[stage]) / len(self._seen[stage])
            elif self._building:
                total += self._history.get(stage, 1.0)
        return total

    def _time_left(self) -> str:
        left = self.seconds_left()
        if left < 1:
            return ""
        return f"{left:.0f} s left" if left < 100 else f"{left / 60:.0f} min left"
