"""What the page of a run shows, and the list of runs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import quote

from shortloop.base.errors import InputError
from shortloop.board.graph import BUILT, FAILED, LEFT, RUNNING, STATES, URGENCY, Node, svg
from shortloop.board.run_jobs import RunJob, RunJobs, jobs_of
from shortloop.exax.tracebacks import of_user
from shortloop.profile.run_times import RunTimes, times_of
from shortloop.project.project import project_directory
from shortloop.run.runs import CUT_OFF, FOLDER, RunRecord, read_run, run_numbers
from shortloop.run.runs import RUNNING as GOES_ON

JOBS, ALL_JOBS = 60, 5_000  # of a stage that are listed, at first and if asked for
STEPS = 12  # of the critical path
LATEST = 15  # runs
KEPT = 16  # runs that have ended, whose jobs stay in memory
ENDS = {"0": (BUILT, "finished"), GOES_ON: (RUNNING, "running"), CUT_OFF: (FAILED, "cut off")}
ENDS["130"] = (LEFT, "interrupted")

_records: dict[int, tuple[int, RunRecord, str]] = {}  # of runs that have ended, with the time of the file
_ended: dict[tuple[object, ...], tuple[RunJobs, RunTimes | None]] = {}


class Stage(NamedTuple):
    """Jobs of a stage in a run."""

    name: str
    state: str
    counts: str
    seconds: float
    jobs: Sequence[RunJob]
    more: int  # jobs that are not listed


def end_of(end: str) -> tuple[str, str]:
    """State of a run, as a graph has it, and in words."""
    return ENDS.get(end, (FAILED, f"failed, exit {end}"))


def run_page(number: int, every: str = "") -> dict[str, object]:
    """Describe a run; of the stage `every` all jobs."""
    record, end = read_run(number)
    if not _is_sound(record):
        raise InputError("the record of a run cannot be read", found=number)
    jobs, times = _jobs_and_times(number, record, end)
    nodes = jobs.nodes()
    return {
        "number": number,
        "record": record,
        "error": of_user(record.error),
        "state": end_of(end),
        "goes_on": end == GOES_ON,
        "picture": svg(nodes, f"Stages of run {number}", _address) if nodes else "",
        "stages": [_stage(node, jobs.jobs, every) for node in nodes.values()],
        "total": len(jobs.jobs),
        "done": sum(job.state in (BUILT, "reuse") for job in jobs.jobs),
        "times": times,
        "path": sorted(times.critical_path, key=lambda step: -step.job.seconds)[:STEPS] if times else [],
        "idle": sum(end - begin for begin, end in times.idle) if times else 0.0,
    }


def latest_run() -> int | None:
    """The run that goes on, else the latest; None if there is none."""
    found = _read(run_numbers()[-LATEST:])
    going = [number for number, _, end in found if end == GOES_ON]
    return max(going or (number for number, *_ in found), default=None)


def runs_page(most: int = LATEST) -> dict[str, object]:
    """List runs, the latest first."""
    numbers = run_numbers()
    shown = numbers[-most:]
    rows = [
        (number, record, end_of(end), record.built, len(record.jobs) - record.built)
        for number, record, end in reversed(_read(shown))
    ]
    return {"runs": rows, "earlier": len(numbers) - len(shown), "unreadable": len(shown) - len(rows)}


def _read(numbers: Sequence[int]) -> list[tuple[int, RunRecord, str]]:
    """Read runs, those that have ended once."""
    found, folder = [], project_directory() / FOLDER
    for number in numbers:
        with suppress(OSError, InputError):
            changed = (folder / f"{number:05d}.json").stat().st_mtime_ns
            known = _records.get(number)
            if known is None or known[0] != changed:
                known = changed, *read_run(number)
            if known[2] != GOES_ON:
                _records[number] = known
            if _is_sound(known[1]):
                found.append((number, *known[1:]))
    return found


def _is_sound(record: RunRecord) -> bool:
    """True if the fields of a record have the right types."""
    texts = [record.script, record.script_job, record.error, record.text]
    texts += [text for job in record.jobs for text in (job.stage, job.job, job.reason)]
    kinds = {*map(type, texts)}
    return kinds == {str} and {type(record.began), type(record.seconds)} <= {int, float}


def _jobs_and_times(number: int, record: RunRecord, end: str) -> tuple[RunJobs, RunTimes | None]:
    key = (number, record.began, record.seconds, end)
    if key not in _ended:
        times = times_of(record) if record.built else None
        found = jobs_of(number, record, end), times if times and times.jobs else None
        if end == GOES_ON:
            return found
        if len(_ended) >= KEPT:
            _ended.clear()
        _ended[key] = found
    return _ended[key]


def _address(node: Node) -> str:
    return f"#stage-{quote(node.stage, errors='replace')}"


def _stage(node: Node, jobs: Sequence[RunJob], every: str) -> Stage:
    """List the jobs of a stage, the most urgent first."""
    counts = [f"{node.states[each]} {STATES[each]}" for each in URGENCY if node.states[each]]
    own = sorted((job for job in jobs if job.stage == node.stage), key=lambda job: URGENCY.index(job.state))
    shown = own[: ALL_JOBS if every == node.stage else JOBS]
    return Stage(node.stage, node.state, ", ".join(counts), node.seconds, shown, len(own) - len(shown))
