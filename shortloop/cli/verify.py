"""``shortloop verify``: whether every job still is what it was."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from shortloop.cli.tables import amount, counted, duration, print_lines, print_table
from shortloop.errors import InputError
from shortloop.jobs.store.store import Store
from shortloop.upkeep.inventory import Entry, inventory
from shortloop.upkeep.verification import Problem, check_all, check_inputs, missing

__all__ = ["verify_jobs"]

WORTH_A_WORD = 2.0  # seconds
LEFT_OUT = "not read: what jobs printed (OUTPUT/), files whose names begin with a dot, jobs of build scripts"


def verify_jobs(set_aside: bool) -> int:
    """Read all jobs, and the input files they were made from, and print what is wrong.

    Parameters
    ----------
    set_aside : bool
        Whether to take damaged jobs out of use, so that the next run builds them again.

    Returns
    -------
    int
        Exit status: 1 if any is damaged or missing, or an input file changed and does not look like it.
    """
    started = time.monotonic()
    with Store() as store:
        if set_aside and not store.index.kept:
            raise InputError(
                "nothing can be set aside, as the project may not be written",
                hint="do it as the owner of the project, or leave out --set-aside",
            )
        entries = inventory(store)
        inputs = check_inputs()  # first, as jobs may keep their data in these files
        with _Bar(sum(each.size for each in entries)) as bar:
            problems = missing(store, entries) + check_all(entries, bar.tell)
        wrong = [each for each in problems if each.damaged]
        if set_aside:
            for each in wrong:
                folder = store.folder(each.job)
                if folder is not None and folder.is_dir():
                    store.set_aside(folder, each.key, each.what)
                else:
                    store.index.forget(each.job)
    if problems or inputs:
        columns = ("job", "stage", "partition", "what")
        print_table(columns, [_row(each) for each in [*problems, *inputs]])
    read = sum(each.size for each in entries if each.state in ("current", "needed", "superseded"))
    recorded = sum(not each.script and each.state in ("current", "needed", "superseded") for each in entries)
    took = duration(time.monotonic() - started)
    verdict = f"{len(wrong)} damaged or missing" if wrong else "all are as they were recorded"
    print_lines(f"{counted(recorded, 'job')}, {amount(read)}, read in {took}: {verdict}")
    outdated = sum(each.state == "outdated" for each in entries)
    if outdated:
        print_lines(
            f"not read: {counted(outdated, 'job')} in another format, by another version of Shortloop;"
        )
        print_lines("no run uses them, and `shortloop gc --delete` deletes them")
    if wrong and set_aside:
        print_lines("these are not used any more; the next run builds what it needs of them again")
    elif wrong:
        print_lines("a run notices, unless a file was only added, and builds them again; --set-aside takes")
        print_lines("them out of use now")
    if inputs:
        number = counted(len(inputs), "input file")
        print_lines(f"{number} changed unnoticed: the next run reads what it needs again")
    print_lines(LEFT_OUT)
    return 1 if wrong or inputs else 0


def _row(each: Problem) -> tuple[str, ...]:
    return each.job, each.stage, each.partition, each.what


class _Bar:
    """Progress by bytes, once it has lasted a while, on a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._bar: object | None = None
        self._update: Callable[[], None] = lambda: None
        self._started = time.monotonic()

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()  # type: ignore[attr-defined]

    def tell(self, each: Entry) -> None:
        self._done += each.size
        if self._bar is None and time.monotonic() - self._started > WORTH_A_WORD and sys.stdout.isatty():
            self._start()
        self._update()

    def _start(self) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
        bar = Progress(*columns, transient=True)
        task = bar.add_task("", total=max(self._total, 1))
        bar.start()
        self._bar = bar

        def update() -> None:
            text = f"reading jobs, {amount(self._done)} of {amount(self._total)}"
            bar.update(task, completed=self._done, description=text)

        self._update = update
