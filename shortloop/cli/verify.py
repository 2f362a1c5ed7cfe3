"""``shortloop verify``: check that every job is unchanged."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from shortloop.base.errors import InputError
from shortloop.cli.document import print_document
from shortloop.cli.tables import amount, counted, duration, print_lines, print_table
from shortloop.store.store import Store
from shortloop.upkeep.inventory import Entry, Problem, check_all, check_inputs, inventory, missing

__all__ = ["verify_jobs"]

WORTH_A_WORD = 2.0  # seconds
LEFT_OUT = "skipped: printed output (OUTPUT/), files whose names begin with a dot, jobs of build scripts"


def verify_jobs(set_aside: bool, as_json: bool = False) -> int:
    """Read all jobs and their input files, print what is wrong, and give the exit status.

    Damaged jobs are taken out of use if they are to be set aside, so that the next run builds them again.
    """
    started = time.monotonic()
    with Store() as store:
        if set_aside and not store.index.kept:
            raise InputError(
                "jobs cannot be set aside: the project is read-only for you",
                hint="run the command as the project's owner, or omit --set-aside",
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
    status = 1 if wrong or inputs else 0
    read = sum(each.size for each in entries if each.state in ("current", "needed", "superseded"))
    recorded = sum(not each.script and each.state in ("current", "needed", "superseded") for each in entries)
    outdated = sum(each.state == "outdated" for each in entries)
    if as_json:
        print_document(
            {
                "jobs": recorded,
                "bytes": read,
                "problems": [_fields(each) for each in problems],
                "inputs": [_fields(each) for each in inputs],
                "outdated": outdated,
                "set_aside": [each.job for each in wrong] if set_aside else [],
            }
        )
        return status
    if problems or inputs:
        columns = ("job", "stage", "partition", "what")
        print_table(columns, [_row(each) for each in [*problems, *inputs]], wrap="what")
    took = duration(time.monotonic() - started)
    verdict = f"{len(wrong)} damaged or missing" if wrong else "all are as they were recorded"
    print_lines(f"{counted(recorded, 'job')}, {amount(read)}, read in {took}: {verdict}")
    if outdated:
        print_lines(f"skipped: {counted(outdated, 'job')} in the format of another version of Shortloop;")
        print_lines("no run uses them, and `shortloop gc --delete` deletes them")
    if wrong and set_aside:
        print_lines("these jobs were taken out of use; the next run rebuilds those it needs")
    elif wrong:
        print_lines("--set-aside takes them out of use; a run does so too, unless a file was only added")
    if inputs:
        number = counted(len(inputs), "input file")
        print_lines(f"{number} changed unnoticed: the next run reads the files it needs again")
    print_lines(LEFT_OUT)
    return status


def _fields(each: Problem) -> dict[str, object]:
    """What is wrong with a job or an input file, for programs."""
    where = {"job": each.job, "stage": each.stage, "partition": each.partition or None}
    return {**where, "what": each.what, "damaged": each.damaged}


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
