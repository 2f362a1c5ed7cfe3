"""Progress of a run: a bar on a terminal, plain lines elsewhere; estimates of the remaining time."""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from shortloop.base.terminal import display_width, hanging, padded, shortened
from shortloop.base.text import duration, one_line
from shortloop.exax.cost import JobProgress, progress_of
from shortloop.plan.pipeline import PERHAPS, REUSE, Built

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

TRUSTED = 0.2  # of a job's units, from which on their pace says all
REFRESH = 4  # times a second
SHORT, LONG = 21, 40  # characters for what is built
WIDE = 110  # columns of a terminal that has room for the long ones
WIDTHS = (19, 12, 10)  # columns of stage, partition and job, at least
FIXED = 12  # columns of spaces and seconds in the line of a job
LEAST = 13  # columns of stage and partition together, at least
# Seconds that reading files takes before it is worth a word, and between such lines off a terminal.
WORTH_A_WORD = 2.0
LINE_EVERY = 10.0


def terminal_width() -> int | None:
    try:
        return None if _TERMINAL is None else os.get_terminal_size(_TERMINAL).columns or 80
    except OSError:
        return None


# exax gives a build script a pseudo-terminal for its output, so the real one is kept on import.
_TERMINAL = os.dup(1) if os.isatty(1) else None


class Progress(AbstractContextManager["Progress"]):
    """Progress of a run. `history` gives the seconds of earlier jobs by stage."""

    def __init__(self, jobs: Sequence[Built], history: Mapping[str, float]) -> None:
        self._estimate = Estimate(jobs, history)
        self._started = time.monotonic()
        self._reading = ""
        self._bar: Live | None = None
        self._said = -LINE_EVERY
        self._stdout = sys.stdout  # which is put away while exax is asked for a job

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def started(self, job: Name, folder: Callable[[], Path | None] = lambda: None) -> None:
        """Show that a job starts or is reused; each attempt to build it has its own folder."""
        planned = self._estimate.begin(job, folder)
        self._reading = ""
        if planned.plan != REUSE:  # a run that builds nothing draws nothing
            self._show()

    def ended(self, built: Built) -> None:
        line = _line_of(built)
        self._estimate.end((built.stage, built.partition, built.variant), line is not None)
        if line is None:
            return
        self._show()
        if self._bar is not None:
            self._fit()
            self._bar.console.print(line, highlight=False, markup=False, no_wrap=True, overflow="ellipsis")
        else:
            print(f"[{self._estimate.done}/{self._estimate.total}] {line}", flush=True)

    def reading(self, files: int, done: int, total: int, seconds: float) -> None:
        """Show how many bytes of input files are read, and since when."""
        if seconds < WORTH_A_WORD:
            self._said = -LINE_EVERY
        if seconds < WORTH_A_WORD or not 0 < done < total:
            self._reading = ""
            return
        unit, scale = ("GB", 1e9) if total >= 1e9 else ("MB", 1e6)
        left = _in_words(seconds * (total - done) / done)
        text = f"reading {files} files, {done / scale:.1f} of {total / scale:.1f} {unit}"
        text = f"{text}, {left}" if left else text
        self._show()
        if self._bar is not None:
            self._reading = text
        elif seconds - self._said >= LINE_EVERY:
            self._said = seconds
            print(text, flush=True)

    def say(self, line: str) -> None:
        """Show a line that a running job printed; called by any thread."""
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
        else:
            print(line, file=self._stdout, flush=True)

    def time_left(self) -> str:
        seconds, all_known = self._estimate.left()
        words = _in_words(seconds)
        return f"over {words}" if words and not all_known else words

    def _show(self) -> None:
        """Start the bar, if there is a terminal and it is not there yet."""
        width = terminal_width()
        if self._bar is not None or width is None:
            return
        from rich.console import Console
        from rich.live import Live

        console = Console(file=sys.stdout, force_terminal=True, width=width)
        self._bar = Live(
            get_renderable=self._line, console=console, transient=True, refresh_per_second=REFRESH
        )
        self._bar.start()

    def _fit(self) -> int:
        """Return the width of the terminal, which changes while a run goes on."""
        width = terminal_width() or 80
        if self._bar is not None:
            self._bar.console.width = width
        return width

    def _what(self) -> str:
        """Return the first running job, and the number of others."""
        running = [*self._estimate.running]
        first = one_line(" ".join(filter(None, running[0]))) if running else ""
        return f"{first} + {len(running) - 1}" if len(running) > 1 else first

    def _line(self) -> Text | Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        terminal = self._fit()
        if self._reading:
            return Text(self._reading, no_wrap=True, overflow="ellipsis")
        done, total = self._estimate.done, self._estimate.total
        share = self._estimate.of_running()
        line = Table.grid(padding=(0, 2, 0, 0), expand=True)
        line.add_column(no_wrap=True, overflow="ellipsis", width=SHORT if terminal < WIDE else LONG)
        line.add_column(no_wrap=True, justify="right", width=4)
        line.add_column(ratio=1)
        for _ in range(3):
            line.add_column(no_wrap=True, justify="right")
        elapsed = int(time.monotonic() - self._started)
        line.add_row(
            Text(self._what(), no_wrap=True, overflow="ellipsis"),
            "" if share is None else f"{100 * share / max(len(self._estimate.running), 1):.0f} %",
            ProgressBar(total, done + (share or 0)),
            f"{done}/{total}",
            f"{elapsed // 3600}:{elapsed // 60 % 60:02}:{elapsed % 60:02}",
            f"{self.time_left():>15}",
        )
        return line


def _line_of(built: Built) -> str | None:
    if not built.fresh:
        return None
    done = "refused" if built.rejected else "built"
    width = terminal_width()
    names = [one_line(each or "") for each in (built.stage, built.partition, built.job)]
    widths = [*map(max, WIDTHS, map(display_width, names))]
    if width is not None:  # long names share the room
        room = max(LEAST, width - len(done) - widths[2] - FIXED)
        widths[1] = min(widths[1], max(room // 2, room - widths[0]))
        widths[0] = min(widths[0], room - widths[1])
    stage, partition, job = map(padded, map(shortened, names, widths), widths)
    line = f"{done} {stage} {partition} {job} {built.seconds:6.1f} s"
    return hanging(line, one_line(": ".join(filter(None, (built.variant, built.reason)))), width)


def _in_words(seconds: float) -> str:
    return f"{duration(seconds)} left" if seconds >= 1 else ""


@dataclass
class _Seen:
    """Jobs of a stage in this run: all built ones, and those with an estimate."""

    built: int = 0
    seconds: float = 0.0
    foretold: float = 0.0
    foretold_took: float = 0.0
    perhaps: int = 0
    perhaps_built: int = 0


class _Running(NamedTuple):
    planned: Built
    began: float
    folder: Callable[[], Path | None]


Name = tuple[str, str | None, str]  # Stage, partition and variant of a job


class Estimate:
    """Remaining time of a run, whose jobs may run in parallel."""

    def __init__(
        self,
        jobs: Sequence[Built],
        history: Mapping[str, float],
        progress: Callable[[Path], JobProgress | None] = progress_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left = list(jobs)
        self._history, self._progress, self._clock = history, progress, clock
        self._seen: dict[str, _Seen] = defaultdict(_Seen)
        self.running: dict[Name, _Running] = {}
        self._busy, self._since = 0.0, clock()  # s during which any job ran, up to when
        self._took = 0.0
        self.done = 0  # finished jobs

    @property
    def total(self) -> int:
        return self.done + len(self._left) + len(self.running)

    def begin(self, name: Name, folder: Callable[[], Path | None] = lambda: None) -> Built:
        """Note that a job starts, and return it as planned."""
        planned = Built("", name[0], name[1])
        for place, job in enumerate(self._left):  # the first one, if the pipeline does as it planned
            if (job.stage, job.partition) == name[:2] and name[2] in (job.variant, ""):
                planned = self._left.pop(place)
                break
        self._pass()
        self.running[name] = _Running(planned, self._clock(), folder)
        return planned

    def end(self, name: Name, built: bool) -> None:
        """Note that a job is finished, and if it was built rather than reused."""
        self._pass()
        if (running := self.running.pop(name, None)) is None:
            return
        job = running.planned
        self.done += 1
        seen = self._seen[job.stage]
        if job.plan == PERHAPS:
            seen.perhaps += 1
            seen.perhaps_built += built
        if built:
            took = self._clock() - running.began
            self._took += took
            seen.built += 1
            seen.seconds += took
            if (known := self._known(job)) is not None:
                seen.foretold += known
                seen.foretold_took += took

    def left(self) -> tuple[float, bool]:
        """Expected seconds until all jobs are finished, and True if all could be estimated."""
        self._pass()
        running = [self._left_of(each) for each in self.running.values()]
        total, all_known = sum(each or 0.0 for each in running), None not in running
        for job in self._left:
            if job.plan != REUSE:
                seconds, seen = self._expected(job), self._seen[job.stage]
                # A job that is perhaps built: one in two, if nothing else is known.
                chance = (seen.perhaps_built + 1) / (seen.perhaps + 2) if job.plan == PERHAPS else 1.0
                total += (seconds or 0.0) * chance
                all_known &= seconds is not None
        now = self._clock()
        so_far = self._took + sum(now - each.began for each in self.running.values())
        at_once = max(so_far / self._busy, 1.0) if self._busy else 1.0
        return max(total / at_once, *(each or 0.0 for each in running), 0.0), all_known

    def of_running(self) -> float | None:
        """Finished share of the running jobs, in time; None if one cannot be estimated."""
        shares = [self._share(each) for each in self.running.values()]
        return None if not shares or None in shares else sum(each or 0.0 for each in shares)

    def _share(self, running: _Running) -> float | None:
        left, elapsed = self._left_of(running), self._clock() - running.began
        if left is None or not elapsed:
            return None if left is None else 0.0
        return min(elapsed / (elapsed + left), 0.95 if self._fraction_of(running) is None else 0.99)

    def _pass(self) -> None:
        now = self._clock()
        if self.running:
            self._busy += now - self._since
        self._since = now

    def _known(self, job: Built) -> float | None:
        return job.seconds or self._history.get(job.stage)

    def _expected(self, job: Built) -> float | None:
        seen, known = self._seen[job.stage], self._known(job)
        if known is None:
            return seen.seconds / seen.built if seen.built else None
        return known * seen.foretold_took / seen.foretold if seen.foretold else known

    def _fraction_of(self, running: _Running) -> float | None:
        folder = running.folder()
        progress = None if folder is None else self._progress(folder)
        return None if progress is None else progress.share

    def _left_of(self, running: _Running) -> float | None:
        if running.planned.plan == REUSE:
            return 0.0
        elapsed = self._clock() - running.began
        expected = self._expected(running.planned)
        by_history = None if expected is None else max(expected - elapsed, 0.0)
        if not (fraction := self._fraction_of(running)) or fraction >= 1:
            return by_history
        by_units = elapsed * (1 - fraction) / fraction
        if by_history is None:
            return by_units
        trust = min(fraction / TRUSTED, 1.0)
        return trust * by_units + (1 - trust) * by_history
