"""``shortloop runs``: list runs, show one in full, and write its settings to a file."""

from __future__ import annotations

import math
import os
import time
import tomllib
from pathlib import Path
from typing import Any

from shortloop.base.errors import InputError
from shortloop.base.text import counted
from shortloop.cli.output import moment, print_json, print_lines, print_table
from shortloop.exax.tracebacks import of_user
from shortloop.run.runs import RUNNING, RunRecord, read_run, read_runs, run_numbers
from shortloop.settings.engine import ENGINE_TABLE, hourly_price

LAST = 20
COLUMNS = ("run", "when", "script", "settings", "part", "built", "reused", "seconds", "exit")
BELOW = ("part", "settings", "script")  # columns that move below in a narrow terminal
NUMBERS = ("run", "built", "reused", "seconds", "exit")


def look_at_runs(number: int | None, settings_to: Path | None, every: bool, as_json: bool) -> None:
    """List runs, show one, or write its settings to a file."""
    if settings_to is not None:
        if number is None:
            raise InputError("--settings-to needs a run", hint="add its number, which `shortloop runs` lists")
        write_settings(number, settings_to, as_json)
    elif number is not None:
        print_run(number, as_json)
    else:
        print_runs(every, as_json)


def print_runs(every: bool, as_json: bool = False) -> None:
    numbers = run_numbers()
    shown = numbers if every else numbers[-LAST:]
    found = read_runs(shown)
    if as_json:
        listed = [_fields(*each) for each in found]
        print_json(runs=listed, all=len(numbers), unreadable=len(shown) - len(found))
        return
    rows = [_row(number, record, end) for number, record, end in found]
    styles = ["" if end == "0" else "red" for _, _, end in found]
    print_table(COLUMNS, rows, right=NUMBERS, below=BELOW, styles=styles)
    more = f", the latest {LAST} shown; --all shows the rest" if len(shown) < len(numbers) else ""
    broken = f"; {len(shown) - len(found)} cannot be read" if len(found) < len(shown) else ""
    print_lines(f"{counted(len(numbers), 'run')}{more}{broken}")


def print_run(number: int, as_json: bool = False) -> None:
    record, end = read_run(number)
    if as_json:
        print_json(
            **_fields(number, record, end),
            file=record.file or None,
            text=record.text if record.file else None,
            script_job=record.script_job or None,
            problem=record.error or None,
            cost=_cost(record),
            jobs=[job._asdict() for job in record.jobs],
        )
        return
    what = " ".join(filter(None, (record.script, record.part)))
    script_job = f", job {record.script_job}" if record.script_job else ""
    print_lines(f"run {number}: {what}{script_job}")
    print_lines(f"  {_when(record)}, {_seconds(record, end)} s, exit {end}")
    if record.error:
        print_lines(*(f"  {line}" for line in of_user(record.error).splitlines()))
    if record.file:
        print_lines("", f"settings {record.settings}, {record.file}:", "")
        print_lines(*(f"  {line}" for line in record.text.splitlines()))
    if record.jobs:
        rows = [
            (job.stage, job.partition or "", job.job, "built" if job.built else "reused", job.reason)
            for job in record.jobs
        ]
        print_lines("")
        print_table(("stage", "partition", "job", "", "reason"), rows, wrap="reason")
    print_lines("", f"{counted(record.built, 'job')} built, {len(record.jobs) - record.built} reused")
    if record.utilisation is not None:
        print_lines(f"{100 * record.utilisation:.0f} % of the cores used from the first job to the last")
    if (cost := _cost(record)) is not None:
        price, currency = f"{cost['price']:g} {cost['currency']}", cost["currency"]
        print_lines(
            f"{cost['cost']:.3g} {currency} at {price} an hour; {cost['runs_a_day']:,} such runs a day"
        )


def write_settings(number: int, file: Path, as_json: bool = False) -> None:
    record, _ = read_run(number)
    if not record.file:
        found, hint = f"run {number} of {record.script}", "choose a run that has settings"
        raise InputError("this run has no settings file", found=found, hint=hint)
    try:
        with file.open("xb") as stream:
            stream.write(record.text.encode("utf-8", "surrogateescape"))
    except FileExistsError:
        problem = "the file exists and is not overwritten"
        raise InputError(problem, file=file, hint="choose another name, or move the file") from None
    except OSError as error:
        problem = "the settings cannot be written"
        raise InputError(problem, file=file, found=error.strerror, hint="choose another file") from None
    if as_json:
        print_json(run=number, settings=record.settings or None, file=file)
        return
    print_lines(f"{file}: settings {record.settings}, as read by run {number} from {record.file}")
    if os.path.realpath(file.absolute().parent) != os.path.realpath(Path(record.file).parent):
        print_lines(
            "relative paths now start from this file's folder: correct them, or move it beside the original"
        )


def _cost(record: RunRecord) -> dict[str, Any] | None:
    """What a run cost, if an hour has a price."""
    try:
        table = tomllib.loads(record.text).get(ENGINE_TABLE)
    except tomllib.TOMLDecodeError:  # of an analysis whose settings are no TOML, or damaged
        table = None
    found = hourly_price(table if isinstance(table, dict) else None)
    if found is None or not record.seconds:
        return None
    price, currency = found
    return {
        "cost": price * record.seconds / 3600,
        "price": price,
        "currency": currency,
        "runs_a_day": math.floor(86_400 / record.seconds),
    }


def _row(number: int, record: RunRecord, end: str) -> tuple[str, ...]:
    ended = record.exit is not None
    counts = (str(record.built), str(len(record.jobs) - record.built)) if ended else ("", "")
    what = (record.script, record.settings, record.part)
    return str(number), _when(record), *what, *counts, _seconds(record, end), end


def _fields(number: int, record: RunRecord, end: str) -> dict[str, object]:
    return {
        "run": number,
        "began": moment(record.began),
        "script": record.script,
        "pipeline": record.pipeline,
        "settings": record.settings or None,
        "part": record.part or None,
        "built": record.built,
        "reused": len(record.jobs) - record.built,
        "seconds": None if record.exit is None else record.seconds,
        "utilisation": record.utilisation,
        "state": end if record.exit is None else "ended",
        "exit": record.exit,
    }


def _when(record: RunRecord) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.began))


def _seconds(record: RunRecord, end: str) -> str:
    if record.exit is not None:
        return f"{record.seconds:.1f}"
    return f"{time.time() - record.began:.1f}" if end == RUNNING else "?"
