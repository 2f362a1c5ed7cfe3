"""``shortloop verify``: check that every job is unchanged."""

from __future__ import annotations

import time

from shortloop.base.errors import InputError
from shortloop.base.terminal import Waiting
from shortloop.base.text import amount, counted, duration
from shortloop.cli.output import print_json, print_lines, print_table
from shortloop.store.inputs import changed_unseen
from shortloop.store.store import Store
from shortloop.upkeep.inventory import Problem, check_all, inventory, missing

RECORDED = ("current", "needed", "superseded")
LEFT_OUT = "skipped: printed output (OUTPUT/), files whose names begin with a dot, jobs of build scripts"


def verify_jobs(set_aside: bool, as_json: bool = False) -> int:
    """Read all jobs and their input files, print all problems, and return the exit status."""
    started = time.monotonic()
    with Store() as store:
        if set_aside and not store.index.kept:
            hint = "run the command as the project's owner, or omit --set-aside"
            raise InputError("jobs cannot be set aside: the project is read-only for you", hint=hint)
        entries = inventory(store)
        # First, because jobs may keep their data in these files; the next run re-reads those that changed.
        inputs = [Problem("", "input", "", f"{file} {said}") for file, said in changed_unseen()]
        total, done = sum(each.size for each in entries), 0
        problems = missing(store, entries)
        with Waiting("reading jobs,", amount) as waiting:
            for entry in entries:
                problems += check_all([entry])
                done += entry.size
                waiting.tell(done, total)
        wrong = [each for each in problems if each.damaged]
        if set_aside:
            for each in wrong:
                if (folder := store.folder(each.job)) is not None and folder.is_dir():
                    store.set_aside(folder, each.key, each.what)
                else:
                    store.index.forget(each.job)
    status = 1 if wrong or inputs else 0
    read = sum(each.size for each in entries if each.state in RECORDED)
    recorded = sum(not each.script and each.state in RECORDED for each in entries)
    outdated = sum(each.state == "outdated" for each in entries)
    if as_json:
        print_json(
            jobs=recorded,
            bytes=read,
            problems=[_fields(each) for each in problems],
            inputs=[_fields(each) for each in inputs],
            outdated=outdated,
            set_aside=[each.job for each in wrong] if set_aside else [],
        )
        return status
    if problems or inputs:
        columns = ("job", "stage", "partition", "what")
        rows = [[getattr(each, name) for name in columns] for each in [*problems, *inputs]]
        print_table(columns, rows, wrap="what")
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
    where = {"job": each.job, "stage": each.stage, "partition": each.partition or None}
    return {**where, "what": each.what, "damaged": each.damaged}
