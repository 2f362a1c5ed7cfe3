"""The pipeline's view of a run, from which it requests files and jobs. It cannot tell a run from a plan."""

from __future__ import annotations

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from shortloop.base.errors import InputError
from shortloop.base.plain import Plain
from shortloop.keys.methods import STAGE
from shortloop.project.project import project_directory
from shortloop.stages.failures import failed_units
from shortloop.stages.inputs import File
from shortloop.stages.records import Work
from shortloop.stages.results import Result
from shortloop.stages.stage import STAGE_OF
from shortloop.store.loaded import open_any, open_job

DEFAULT = "default"  # exax's name of an unnamed dataset
LISTED = 8  # names in a line
NO_RESULT = Path()  # the folder of a job that is only planned
BUILD, PERHAPS, REUSE = "build", "perhaps", "reuse"  # plan of a job
TAKE = "take"  # from the shared cache


class NotThereYet(BaseException):
    """Results of a job are missing. No `Exception`, so that no pipeline takes it for an error of that job."""

    def __init__(self, job: Built) -> None:
        self.job = job
        super().__init__(job.name)


@dataclass(frozen=True, repr=False)
class Built:
    """A job as a pipeline sees it, and as `Run.build` takes it for an input."""

    job: str  # job id; empty in a plan if the job is still to be built
    stage: str
    partition: str | None  # None: all of the data
    path: Path = NO_RESULT
    fresh: bool = False  # True if this run built it
    seconds: float = 0.0  # of the build; in a plan, of the job in its place before; 0: unknown
    content: str = ""  # hash of the results; empty: unknown
    rejected: bool = False  # True if it rejected its input: its result is a message
    has_tables: bool = False  # in a plan, of the job in its place before
    plan: str = ""  # in a plan: what would be done
    reason: str = ""  # why it was or would be built, or used though its code changed
    variant: str = ""  # difference to other jobs of its stage and partition, e.g. a model; empty: none
    files: tuple[str, ...] = ()  # names of its input files in this run; they may have been renamed
    modules: tuple[str, ...] = ()  # modules that reading its objects imports; in a plan, as of `has_tables`
    incomplete: bool = False  # True if units failed, which the next run retries

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.stage, self.partition)))

    def __repr__(self) -> str:
        return f"<{self.job or 'to be built'}: {self.name}>"

    def notes(self) -> list[str]:
        """Messages of the job to the user, e.g. about its input: its fact ``notes``."""
        said = open_any(self.path).record["facts"].get("notes", ())
        return [each for each in said if isinstance(each, str)] if isinstance(said, list) else []

    def failed_units(self) -> str:
        errors = open_any(self.path).record["errors"]
        return f"{failed_units(errors, LISTED)}; `shortloop show {self.job}`"

    def with_units(self, work: Work, asked: bool) -> Built:
        """Copy whose reason says how many units were computed, if others may be from earlier jobs."""
        computed, of, resumed = work.get("units", 0), work.get("of", 0), work.get("resumed", 0)
        if self.rejected or not of or not (asked or resumed):
            return self
        kept = f", {resumed} resumed from an interrupted run" if resumed else ""
        return replace(self, reason=f"{computed} of {of} units computed{kept}; {self.reason}")

    def result(self) -> Result:
        if self.plan in (BUILD, PERHAPS, TAKE) or self.rejected:
            raise NotThereYet(self)
        return open_job(self.path)

    def __getitem__(self, name: str) -> Any:
        return self.result()[name]  # as in a stage

    __iter__ = None  # which Python would make of the names


@dataclass(frozen=True)
class BuiltDataset:
    made: Built
    name: str = DEFAULT  # the dataset's name in it

    @property
    def job(self) -> str:
        return self.made.job

    @property
    def id(self) -> str:
        """Id as exax writes it: job and name."""
        return f"{self.job}/{self.name}"

    @property
    def content(self) -> str:
        """Hash of the job's results, and the name; empty if still unknown."""
        content = self.made.content
        return f"{content}/{self.name}" if content and self.name != DEFAULT else content

    @property
    def stage(self) -> str:
        return self.made.stage

    @property
    def partition(self) -> str | None:
        return self.made.partition


Made = Built | BuiltDataset
Jobs = Mapping[str, Made | Sequence[Made]]  # jobs or datasets, or lists of them, by a stage's name for them


def flat(jobs: Jobs) -> list[Made]:
    """List all jobs and datasets, including those in lists."""
    return [one for made in jobs.values() for one in (made if isinstance(made, Sequence) else [made])]


class Call(NamedTuple):
    """Arguments of `Run.build` besides stage and partition."""

    arguments: Mapping[str, object]
    modules: Sequence[str] = ()
    datasets: Mapping[str, object] = {}
    joblib: Mapping[str, Plain] = {}  # settings of `joblib.parallel_config` where it was called


class Run(ABC):
    """A run of a pipeline: a `Planner`, which only looks, or an `Executor`, which has jobs built."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.jobs: list[Built] = []  # all requested jobs, in order
        self.addresses: dict[Path, str] = {}  # of copies of files, as their names
        self._copies: dict[str, Path] = {}

    def build(
        self,
        stage: str | Callable[..., object],
        /,  # an option may be named `stage`
        *,
        partition: str | None = None,
        modules: Sequence[str] = (),
        datasets: Mapping[str, object] | None = None,
        **arguments: object,
    ) -> Built:
        """Ask for a job, which is built if none with the same key is there."""
        # `stage` is the name of a stage, or the stage itself, imported from the file of its method.
        call = Call(arguments, modules, datasets or {}, _joblib_settings())
        return self.ask(_stage_name(stage), partition, call)

    @abstractmethod
    def ask(self, stage: str, partition: str | None, call: Call) -> Built:
        """Find or build the job that `build` asks for."""

    @abstractmethod
    def files(self, paths: Sequence[Path]) -> list[File]:
        """Register input files by content."""

    def file(self, path: Path | str) -> File:
        return self.files(self.placed([Path(path)]))[0]

    def placed(self, paths: Sequence[Path]) -> list[Path]:
        """Find files from the project's folder; fetch those at addresses of fsspec."""
        return [self._copy(each) if ":/" in str(each) else project_directory() / each for each in paths]

    def _copy(self, path: Path) -> Path:
        from shortloop.store.remote_files import address_of, local_copy

        if not (address := address_of(path)):
            return project_directory() / path
        if address not in self._copies:
            self._copies[address], name = local_copy(address)
            self.addresses[self._copies[address]] = name
        return self._copies[address]


def as_reused(jobs: Iterable[Built]) -> list[Built]:
    """Jobs with those of the shared cache like any that are there, for display."""
    return [replace(job, plan=REUSE) if job.plan == TAKE else job for job in jobs]


Pipeline = Callable[[Run], Built]
"""Asks a run for jobs, one after the other, and gives the last one. Which ones, may hang on their results."""


def follow(pipeline: Pipeline, run: Run) -> Built:
    """Call a pipeline, and check that it returns a job."""
    last: object = pipeline(run)
    if isinstance(last, Built):
        return last
    function = inspect.unwrap(pipeline)
    given = "nothing" if last is None else f"an object of the type {type(last).__name__}"
    problem = "the pipeline does not return a job"
    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    found = f"{getattr(function, '__name__', 'it')} returns {given}"
    expected = "the last job, as `run.build` gives it"
    hint = "end it with e.g. `return run.build(...)`"
    raise InputError(problem, file=file, found=found, expected=expected, hint=hint)


def _joblib_settings() -> dict[str, Plain]:
    """Settings of `joblib.parallel_config` in this thread; empty without any."""
    if (joblib := sys.modules.get("joblib.parallel")) is None:
        return {}
    backend, n_jobs = joblib.get_active_backend()
    if backend.nesting_level is None and n_jobs is None:  # the defaults
        return {}
    name = next((each for each, kind in joblib.BACKENDS.items() if type(backend) is kind), "another one")
    return {"backend": name, "n_jobs": None if n_jobs is None else backend.effective_n_jobs(n_jobs)}


def _stage_name(stage: str | Callable[..., object]) -> str:
    if isinstance(stage, str):
        return stage
    module = getattr(stage, "__module__", "")
    name = module.rpartition(".")[2]
    declared = getattr(sys.modules.get(module), STAGE, None)
    if not name.startswith("a_") or declared is None or declared is not getattr(stage, STAGE_OF, stage):
        problem = "the first argument of `run.build` is not a stage"
        expected = "the name of a stage, or a function or class that a file a_NAME.py makes a stage"
        hint = 'give the name: `run.build("NAME", …)` for a file a_NAME.py'
        raise InputError(problem, found=repr(stage), expected=expected, hint=hint)
    return name.removeprefix("a_")
