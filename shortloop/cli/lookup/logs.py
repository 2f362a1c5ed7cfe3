"""``shortloop logs``: print a job's output, even while it runs or after it failed."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

from shortloop.base.errors import InputError
from shortloop.base.text import one_line, short_list
from shortloop.exax.job_output import is_running, lines_of_output
from shortloop.exax.live_output import LiveOutput, parts_of_output
from shortloop.project.project import FINISHED, job_directory, job_folders
from shortloop.store.setup import setup_of, title_of
from shortloop.units.unit_output import printed_units

POLL_EVERY = 0.5  # s, whether a job still runs
NAMED = 8  # units in a message


def print_logs(job: str, partition: str | None, unit: str | None, follow: bool) -> None:
    folders = jobs_named(job, partition)
    running = {folder: follow and is_running(folder) for folder in folders}
    missing: list[str] = []
    for folder in folders:
        if len(folders) > 1:
            print(one_line(f"{folder.name}: {title_of(setup_of(folder))}"))
        if running[folder] and unit is None:
            _follow(folder)
        elif not _print_job(folder, unit):
            missing.append(folder.name)
    if missing and unit is not None and len(missing) == len(folders):
        files = [file for folder in folders for file in parts_of_output(folder)]
        names = [*dict.fromkeys(one_line(each.unit) for file in files for each in printed_units(file))]
        listed = short_list(names, NAMED) or "no --unit: no unit of the job printed anything"
        hint = f"print everything with `shortloop logs {folders[0].name}`"
        raise InputError("no output from this unit", found=unit, expected=listed, hint=hint)
    for name in missing if unit is None else ():
        print(f"{name} printed nothing", file=sys.stderr)


def _print_job(folder: Path, unit: str | None) -> bool:
    """Print a job's output; True if there is any, of the unit if one is named."""
    found = False
    for file in parts_of_output(folder):
        for of, line in lines_of_output(file, unit):
            found = True
            print(line if of is None or unit is not None else f"{one_line(of)} | {line}")
    return found


def _follow(folder: Path) -> None:
    with LiveOutput(lambda line: print(line, flush=True), verbose=True, most=None) as output:
        output.follow(folder, "")
        while is_running(folder):
            time.sleep(POLL_EVERY)


def jobs_named(what: str, partition: str | None = None, finished: bool = False) -> list[Path]:
    """Folder of a job, or of the newest job of each partition of a stage, even if it failed."""
    if re.fullmatch(r".+-\d+", what):
        return [job_directory(what)]
    found: dict[str, Path] = {}
    stages: set[str] = set()
    partitions: set[str] = set()
    for folder in job_folders():
        setup = setup_of(folder)
        stage, of = str(setup.get("method", "")), str(setup.get("options", {}).get("partition") or "")
        if stage == what:
            partitions.add(of)
            if partition in (None, of) and (not finished or (folder / FINISHED).exists()):
                found.pop(of, None)  # the newest come last
                found[of] = folder
        elif "." not in stage:  # not a build script
            stages.add(stage)
    if partitions and not found and not finished:
        named = ", ".join(sorted(partitions - {""})) or "no --partition: the stage has no partitions"
        raise InputError(f"{what} has no job for this partition", found=partition, expected=named)
    if not partitions:
        expected = f"a job id, or {', '.join(sorted(stages - {''})) or 'a run'}"
        raise InputError("unknown stage", found=what, expected=expected)
    return [*found.values()]
