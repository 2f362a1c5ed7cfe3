"""What a pipeline sees: a run, which it asks for files and jobs. Whether that builds them or only plans, a
pipeline does not know."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from shortloop.errors import InputError
from shortloop.jobs.project import project_directory
from shortloop.jobs.store.lookup import open_any, open_job
from shortloop.worker.inputs import File
from shortloop.worker.results import Result
from shortloop.worker.rows import number_of_rows

__all__ = [
    "BUILD",
    "PERHAPS",
    "REUSE",
    "Built",
    "BuiltDataset",
    "Jobs",
    "Made",
    "NotThereYet",
    "Pipeline",
    "Run",
    "follow",
]

DEFAULT = "default"
"""The name that exax gives to a dataset without one."""
NO_RESULT = Path()  # the folder of a job that is only planned
BUILD, PERHAPS, REUSE = "build", "perhaps", "reuse"  # what a plan says of a job


class NotThereYet(BaseException):
    """A pipeline asks for results of a job that is still to be built, or has none. No `except Exception` of a
    pipeline takes it for an error of that job.

    Parameters
    ----------
    job : Built
        The job.
    """

    def __init__(self, job: Built) -> None:
        self.job = job
        super().__init__(job.name)


@dataclass(frozen=True)
class Built:
    """A job as a pipeline sees it. Give it to `Run.build` as what another job is made from.

    Parameters
    ----------
    job : str
        Job id; empty in a plan if the job is still to be built.
    stage : str
        The stage's name.
    partition : str or None
        Which part of the data; None: all.
    path : Path
        Folder of the job.
    fresh : bool
        Whether this run built it.
    seconds : float
        How long it took to build, now or then; in a plan, how long the job in its place took; 0: not known.
    content : str
        Hash of what it left; empty if that is not known yet.
    rejected : bool
        Whether it rejected its input: all that it left is a message.
    has_tables : bool
        Whether it left tables; in a plan, whether the job in its place did, if it is still to be built.
    plan : {"", "reuse", "build", "perhaps"}
        In a plan, what would be done; perhaps: if a job above comes out different.
    reason : str
        Why it was or would be built, or why it is used though its code changed.
    variant : str
        What tells it from others of its stage and partition, e.g. which model is fitted; empty: nothing.
    files : tuple of str
        Names of the input files that it is given, as they are in this run: when it was built, they may have
        had others.
    """

    job: str
    stage: str
    partition: str | None
    path: Path = NO_RESULT
    fresh: bool = False
    seconds: float = 0.0
    content: str = ""
    rejected: bool = False
    has_tables: bool = False
    plan: str = ""
    reason: str = ""
    variant: str = ""
    files: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its stage and partition."""
        return " ".join(filter(None, (self.stage, self.partition)))

    def notes(self) -> list[str]:
        """What it has to say to who runs it, e.g. of its input: its fact ``notes``.

        Returns
        -------
        list of str
        """
        said = open_any(self.path).record["facts"].get("notes", ())
        return [each for each in said if isinstance(each, str)] if isinstance(said, list) else []

    def with_units(self) -> Built:
        """The same, where the reason says how many of its units were computed, and not taken over.

        Returns
        -------
        Built
        """
        record = open_any(self.path).record
        if not self.fresh or record["problem"] is not None:
            return self
        number = number_of_rows(self.path)
        computed = number - sum(record.get("taken", {}).values())
        return replace(self, reason=f"{computed} of {number} units computed; {self.reason}")

    def result(self) -> Result:
        """Its arrays and record.

        Returns
        -------
        Result

        Raises
        ------
        NotThereYet
            If it is still to be built, or rejected its input: a plan ends there.
        """
        if self.plan in (BUILD, PERHAPS) or self.rejected:
            raise NotThereYet(self)
        return open_job(self.path)


@dataclass(frozen=True)
class BuiltDataset:
    """A dataset that a job has left.

    Parameters
    ----------
    made : Built
        The job.
    name : str
        The dataset's name in it.
    """

    made: Built
    name: str = DEFAULT

    @property
    def job(self) -> str:
        """The job's id; empty in a plan if it is still to be built."""
        return self.made.job

    @property
    def id(self) -> str:
        """As exax names it: the job's id, and its own name."""
        return f"{self.job}/{self.name}"

    @property
    def content(self) -> str:
        """Hash of what the job left, and its own name; empty if that is not known yet."""
        content = self.made.content
        return f"{content}/{self.name}" if content and self.name != DEFAULT else content

    @property
    def stage(self) -> str:
        """The job's stage."""
        return self.made.stage

    @property
    def partition(self) -> str | None:
        """Which part of the data the job is for; None: all."""
        return self.made.partition


Made = Built | BuiltDataset
Jobs = Mapping[str, Made | Sequence[Made]]
"""Jobs or datasets, or lists of them, by the name that a stage has for them."""


class Run(ABC):
    """A run of a pipeline: of `shortloop.jobs.planner.Planner`, which only looks, or of
    `shortloop.jobs.executor.Executor`, which has jobs built.

    Parameters
    ----------
    name : str
        What it is for: the build script, and its settings if they have a name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.jobs: list[Built] = []
        """All jobs that were asked for, in order."""

    @abstractmethod
    def build(
        self,
        stage: str,
        *,
        partition: str | None = None,
        modules: Sequence[str] = (),
        datasets: Mapping[str, object] | None = None,
        **arguments: object,
    ) -> Built:
        """Ask for a job. It is built if none with the same key is there.

        Parameters
        ----------
        stage : str
            Name of the stage: of its method.
        partition : str, optional
            Which part of the data it is for. Default: all.
        modules : sequence of str, optional
            Modules that the stage imports by a name that is not in its code, beside those of `Stage.modules`.
        datasets : mapping, optional
            Datasets by the names that the stage has for them: a job, which stands for its default dataset, or
            ``(job, "name of the dataset")``, or a list of these where the stage takes a list.
        **arguments
            Options, and jobs and datasets that it is made from, as the stage names them. An option is plain
            data (None, bool, int, finite float, str, and lists, tuples and dicts of these), a settings
            record, or a file of `file`. A path is refused: a job must depend on what is in a file.

        Returns
        -------
        Built

        Raises
        ------
        InputError
            If the stage knows no such argument, lacks one, or the job rejected its input.
        """

    @abstractmethod
    def files(self, paths: Sequence[Path]) -> list[File]:
        """Input files, by what is in them.

        Parameters
        ----------
        paths : sequence of Path
            Where they are; relative paths start from the folder of the project.

        Returns
        -------
        list of File
            To be given to `build` as options. In a plan, a file that was not read yet has an empty content.

        Raises
        ------
        InputError
            If one cannot be read.
        """

    def file(self, path: Path | str) -> File:
        """An input file, by what is in it.

        Parameters
        ----------
        path : path-like
            Where it is; a relative path starts from the folder of the project.

        Returns
        -------
        File
            As of `files`.
        """
        return self.files([project_directory() / path])[0]


Pipeline = Callable[[Run], Built]
"""Asks a run for jobs, one after the other, and gives the last one. Which ones, may hang on their results."""


def follow(pipeline: Pipeline, run: Run) -> Built:
    """Call a pipeline.

    Parameters
    ----------
    pipeline : callable
        The pipeline.
    run : Run
        What it is given.

    Returns
    -------
    Built
        The last job.

    Raises
    ------
    InputError
        If it returns something else.
    """
    last: object = pipeline(run)
    if isinstance(last, Built):
        return last
    function = inspect.unwrap(pipeline)
    raise InputError(
        "the pipeline does not return a job",
        file=getattr(getattr(function, "__code__", None), "co_filename", None),
        found=f"{getattr(function, '__name__', 'it')} returns {_kind_of(last)}",
        expected="the last job, as `run.build` gives it",
        hint="end it with e.g. `return run.build(...)`",
    )


def _kind_of(value: object) -> str:
    return "nothing" if value is None else f"an object of the type {type(value).__name__}"
