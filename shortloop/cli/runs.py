"""``shortloop runs``: the runs of this project, one of them in full, and its settings to go back to."""

from __future__ import annotations

import os
import time
from pathlib import Path

from shortloop.cli.tables import counted, print_lines, print_table
from shortloop.errors import InputError
from shortloop.jobs.runs import RUNNING, RunRecord, read_run, read_runs, run_numbers

__all__ = ["print_run", "print_runs", "write_settings"]

LAST = 20
COLUMNS = ("run", "when", "script", "settings", "part", "built", "reused", "seconds", "exit")
NUMBERS = ("run", "built", "reused", "seconds", "exit")


def print_runs(every: bool) -> None:
    """Print a table of runs, the last one at the end.

    Parameters
    ----------
    every : bool
        Whether to list more than the last ones.
    """
    numbers = run_numbers()
    shown = numbers if every else numbers[-LAST:]
    found = read_runs(shown)
    rows = [_row(number, record, end) for number, record, end in found]
    styles = ["" if end == "0" else "red" for _, _, end in found]
    print_table(COLUMNS, rows, right=NUMBERS, styles=styles)
    more = (
        f", of which the last {LAST} are shown: --all shows the others" if len(shown) < len(numbers) else ""
    )
    broken = f"; {len(shown) - len(found)} cannot be read" if len(found) < len(shown) else ""
    print_lines(f"{counted(len(numbers), 'run')}{more}{broken}")


def print_run(number: int) -> None:
    """Print one run in full.

    Parameters
    ----------
    number : int
        Its number.

    Raises
    ------
    InputError
        If there is none of this number.
    """
    record, end = read_run(number)
    what = " ".join(filter(None, (record.script, record.part)))
    script_job = f", job {record.script_job}" if record.script_job else ""
    print_lines(f"run {number}: {what}{script_job}")
    print_lines(f"  {_when(record)}, {_seconds(record, end)} s, exit {end}")
    if record.error:
        print_lines(*(f"  {line}" for line in record.error.splitlines()))
    if record.file:
        print_lines("", f"settings {record.settings}, {record.file}:", "")
        print_lines(*(f"  {line}" for line in record.text.splitlines()))
    if record.jobs:
        rows = [
            (job.stage, job.partition or "", job.job, "built" if job.built else "reused", job.reason)
            for job in record.jobs
        ]
        print_lines("")
        print_table(("stage", "partition", "job", "", "reason"), rows)
    print_lines("", f"{counted(record.built, 'job')} built, {len(record.jobs) - record.built} reused")


def write_settings(number: int, file: Path) -> None:
    """Write the settings of a run to a file.

    Parameters
    ----------
    number : int
        The run's number.
    file : Path
        A file that is not there yet.

    Raises
    ------
    InputError
        If there is no such run, it had no settings, or the file is there or cannot be written.
    """
    record, _ = read_run(number)
    if not record.file:
        raise InputError("this run had no file of settings", found=f"run {number}, of {record.script}")
    try:
        with file.open("xb") as stream:
            stream.write(record.text.encode("utf-8", "surrogateescape"))
    except FileExistsError:
        raise InputError(
            "there is a file already, and it is not overwritten", file=file, hint="name another, or move it"
        ) from None
    except OSError as error:
        raise InputError("the settings cannot be written", file=file, found=error.strerror) from None
    print_lines(f"{file}: settings {record.settings} as run {number} read them from {record.file}")
    if os.path.realpath(file.absolute().parent) != os.path.realpath(Path(record.file).parent):
        print_lines(
            "relative paths in it now start from another folder: mend them, or move it beside the other"
        )


def _row(number: int, record: RunRecord, end: str) -> tuple[str, ...]:
    ended = record.exit is not None
    counts = (str(record.built), str(len(record.jobs) - record.built)) if ended else ("", "")
    what = (record.script, record.settings, record.part)
    return str(number), _when(record), *what, *counts, _seconds(record, end), end


def _when(record: RunRecord) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.began))


def _seconds(record: RunRecord, end: str) -> str:
    if record.exit is not None:
        return f"{record.seconds:.1f}"
    return f"{time.time() - record.began:.1f}" if end == RUNNING else "?"
