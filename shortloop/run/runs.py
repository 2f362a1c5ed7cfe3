"""Records of the project's runs, one small file each.

A run locks its file; the system releases the lock however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.base.errors import InputError
from shortloop.base.text import printable
from shortloop.plan.pipeline import Built
from shortloop.plan.settings_files import SettingsFile
from shortloop.project.project import project_directory
from shortloop.store.setup import json_object, setup_of

FOLDER = "workdirs/.runs"
CUT_OFF, RUNNING = "cut off", "running"
FORMAT = 1
PLANNED = ("stage", "partition", "job", "plan", "reason", "seconds")


class JobOfRun(NamedTuple):
    stage: str
    partition: str | None
    job: str
    built: bool
    reason: str  # why it was built


class RunPlan(NamedTuple):
    """Jobs that a run will build or reuse, and the edges of its graph: pairs of stages."""

    jobs: list[Built]  # with `PLANNED` of their fields
    edges: list[tuple[str, str]]


@dataclass(frozen=True)
class RunRecord:
    script: str
    pipeline: str
    settings: str  # name of its settings; empty if they have none
    file: str  # that they were read from
    text: str  # of that file
    part: str  # of the pipeline that was asked for, as on the command line; empty: all
    began: float  # seconds since 1970
    script_job: str = ""
    exit: int | None = None  # status; None if it has not ended, or was cut off
    seconds: float = 0.0
    error: str = ""
    jobs: list[JobOfRun] = field(default_factory=list)
    utilisation: float | None = None  # see `Executor.utilisation`

    @property
    def built(self) -> int:
        return sum(job.built for job in self.jobs)


class Recorder:
    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self.jobs: Sequence[Built] = ()  # built and reused so far; the list grows
        self.utilisation: Callable[[], float | None] = lambda: None
        self.file: Path | None = None

    def note_plan(self, jobs: Iterable[Built], edges: Iterable[tuple[str, str]]) -> None:
        """Keep what a run is going to build while it goes on, and if it fails."""
        planned = [[getattr(job, name) for name in PLANNED] for job in jobs]
        if self.file is not None:
            with contextlib.suppress(OSError):
                said = json.dumps({"jobs": planned, "edges": sorted(edges)})
                _plan_file(self.file).write_text(said, encoding="ascii")

    def complete(self, status: int, error: str = "") -> RunRecord:
        jobs = [JobOfRun(job.stage, job.partition, job.job, job.fresh, job.reason) for job in self.jobs]
        seconds = round(time.time() - self.record.began, 3)
        used = self.utilisation()
        return replace(self.record, exit=status, seconds=seconds, error=error, jobs=jobs, utilisation=used)


@contextmanager
def recorded(pipeline: str, settings: SettingsFile | None, part: str) -> Iterator[Recorder]:
    """Keep a record of a run, if that may be written here."""
    folder = Path.cwd()  # that of the job of the build script
    setup = setup_of(folder)
    known = (settings.name, str(settings.file), settings.text) if settings else ("", "", "")
    script, job = str(setup.get("method", "")).rpartition(".")[2] or pipeline, folder.name if setup else ""
    recorder = Recorder(RunRecord(script, pipeline, *known, part, round(time.time(), 3), job))
    file, lock = _begin(recorder.record)
    recorder.file = file
    status, error = 0, ""
    try:
        yield recorder
    except BaseException as reason:
        status, error = _status(reason)
        raise
    finally:
        with contextlib.suppress(OSError):
            if file is not None:
                _replace(file, recorder.complete(status, error))
                if status == 0:
                    _plan_file(file).unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def run_numbers() -> list[int]:
    try:
        names = os.listdir(project_directory() / FOLDER)
    except OSError:
        return []
    stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def read_runs(numbers: Sequence[int]) -> list[tuple[int, RunRecord, str]]:
    found = []
    for number in numbers:
        with contextlib.suppress(InputError):
            found.append((number, *read_run(number)))
    return found


def read_run(number: int) -> tuple[RunRecord, str]:
    """Read a run and its state: its exit status, RUNNING or CUT_OFF."""
    file = _file(number)
    try:
        record = _read(file)
        if record.exit is None and _is_locked(file):
            return record, RUNNING
        if record.exit is None:  # it may have ended just now
            record = _read(file)
    except FileNotFoundError:
        known = run_numbers()
        expected = f"a number from {known[0]} to {known[-1]}" if known else "no runs yet"
        hint = "`shortloop runs --all` lists them"
        raise InputError("no such run", found=number, expected=expected, hint=hint) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError("the record of a run cannot be read", file=file, found=error) from None
    return record, CUT_OFF if record.exit is None else str(record.exit)


def read_plan(number: int) -> RunPlan:
    """Read what a run was going to build; empty if it has not planned that, or has built it all."""
    plain: Any = json_object(_plan_file(_file(number)))
    try:
        jobs = [Built(**dict(zip(PLANNED, each, strict=True))) for each in plain["jobs"]]
        return RunPlan(jobs, [(one, other) for one, other in plain["edges"]])
    except (ValueError, KeyError, TypeError):
        return RunPlan([], [])


def _begin(record: RunRecord) -> tuple[Path | None, int | None]:
    """Write the record of a new run under the next number, and hold its lock."""
    lock = None
    try:
        folder = project_directory() / FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".begins.{os.getpid()}"
        _write(part, record)
        lock = os.open(part, os.O_RDWR)  # NFS gives an exclusive lock to those alone that may write
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = _claim(part)
        part.unlink(missing_ok=True)
        return file, lock
    except OSError:
        if lock is not None:
            os.close(lock)
        return None, None


def _claim(part: Path) -> Path:
    while True:
        file = _file((run_numbers() or [0])[-1] + 1)
        try:
            os.link(part, file)
        except FileExistsError:  # another run has begun just now
            continue
        except OSError:  # a disk without links
            part.rename(file)
        return file


def _file(number: int) -> Path:
    return project_directory() / FOLDER / f"{number:05d}.json"


def _plan_file(file: Path) -> Path:
    """The plan beside the record of a run."""
    return file.with_name(f".{file.stem}.plan")


def _replace(file: Path, record: RunRecord) -> None:
    """Replace a record in one step, so that it survives a power cut."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    _write(part, record)
    with part.open("rb") as stream:
        os.fsync(stream.fileno())
    part.replace(file)


def _write(file: Path, record: RunRecord) -> None:
    # Of what is no text in a file of settings there are surrogates, which are escaped.
    file.write_text(json.dumps({"format": FORMAT, **vars(record)}), encoding="ascii")


def _read(file: Path) -> RunRecord:
    plain = json.loads(file.read_text(encoding="ascii"))
    if plain.pop("format") != FORMAT:
        raise ValueError("another version of Shortloop wrote it")
    plain["jobs"] = [JobOfRun(*each) for each in plain["jobs"]]
    return RunRecord(**plain)


def _is_locked(file: Path) -> bool:
    with file.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _status(reason: BaseException) -> tuple[int, str]:
    if isinstance(reason, InputError):
        return 1, reason.message
    if isinstance(reason, KeyboardInterrupt):
        return 130, "interrupted"
    if isinstance(reason, SystemExit):
        return reason.code if isinstance(reason.code, int) else 1, f"ended with {reason.code}"
    said = getattr(reason, "format_msg", None)  # of exax's error of a job, with its traceback
    return 1, printable(said()) if said else f"{type(reason).__name__}: {reason}"
