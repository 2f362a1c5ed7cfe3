"""A finished job: its arrays, what made it, from what, with which options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from shortloop.errors import InputError, TransientError
from shortloop.plain import Plain, copied
from shortloop.text import one_line
from shortloop.worker.fact_types import ARRAY, as_given
from shortloop.worker.opened import Arrays, Tables
from shortloop.worker.records import EARLIER, FORMAT, RECORD, ROWS, Record
from shortloop.worker.tables import unit_frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["OtherFormat", "Result", "Setup", "Where", "bare_result", "open_result"]


class OtherFormat(TransientError):
    """A job that another version of this package wrote."""


@dataclass(frozen=True)
class Where:
    """Where files and jobs are on this machine, which is in no key.

    Parameters
    ----------
    files : mapping of str to Path
        Input files by their content.
    workdirs : mapping of str to Path
        Folders of jobs by the name of the workdir.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    workdirs: Mapping[str, Path] = field(default_factory=dict)


class Times(TypedDict):
    """How long a job took, in seconds."""

    total: float


class Setup(TypedDict, total=False):
    """exax's own record of a job: the part of it that is read here; of one that did not finish, less."""

    method: str
    package: str
    hash: str
    options: dict[str, Plain]
    jobs: dict[str, str | list[str] | None]
    datasets: dict[str, str | list[str] | None]
    _typing: list[tuple[str, str]]
    slices: int
    starttime: float
    exectime: Times
    parent: str
    is_build: bool


@dataclass(frozen=True)
class Result:
    """One finished job.

    Parameters
    ----------
    job : str
        Job id.
    path : Path
        Its folder.
    record : Record
        What the job wrote of itself: stage, partition, arrays, facts, threads, versions, problem.
    where : Where
        Where the files of its arrays, and the jobs that it was made from, are.
    """

    job: str
    path: Path
    record: Record
    where: Where = field(default_factory=Where, repr=False)

    @cached_property
    def arrays(self) -> Arrays:
        """Arrays by name, as read-only memory maps: of files of the job, or of those it was made from."""
        return Arrays(self.path, self.record["arrays"], self.where.files)

    @cached_property
    def tables(self) -> Tables:
        """Tables by name, read when asked for, as frames of the library that wrote them."""
        return Tables(self.path, self.record.get("tables", {}))

    @property
    def figures(self) -> dict[str, Path]:
        """Figures by name: the PNG of each; a PDF lies beside it."""
        return {name: self.path / f"{name}.png" for name in self.record.get("figures", [])}

    @property
    def files(self) -> dict[str, Path]:
        """Other files by name."""
        return {name: self.path / name for name in self.record.get("files", [])}

    def __getitem__(self, name: str) -> Any:
        """A result by its name, whatever it is: array, table, fact, figure or file; the last two as paths."""
        if name in self.arrays:
            array = self.arrays[name]
            return array if array.ndim or self._types.get(name) == ARRAY else array[()]
        facts = self.record["facts"]
        kinds: tuple[Mapping[str, Any], ...] = (self.tables, facts, self.figures, self.files)
        for kind in kinds:
            if name in kind:
                return as_given(facts[name], self._types.get(name)) if kind is facts else kind[name]
        raise KeyError(f"{name}; {self.job} has {', '.join(self.names()) or 'nothing'}")

    def names(self) -> list[str]:
        """Names of all that it left: arrays, tables, facts, figures and files.

        Returns
        -------
        list of str
        """
        return [*self.arrays, *self.tables, *self.record["facts"], *self.figures, *self.files]

    def to_frame(self, table: str = "") -> pd.DataFrame:
        """A table of the job; of a job of units that a function computed, what each of them gave.

        Parameters
        ----------
        table : str, optional
            Which. Default: the first one, or units if it has no table: a row for each, the index is their
            names, and a column for each array of one value a unit.

        Returns
        -------
        DataFrame
            Of pandas, whatever library wrote it.

        Raises
        ------
        InputError
            If there is no such table.
        """
        names, units = list(self.tables), self.record["facts"].get("units")
        if not table and not names and isinstance(units, list) and (self.path / ROWS).is_file():
            return unit_frame(units, {name: each[:] for name, each in self.arrays.items() if each.ndim == 1})
        if not names or (table and table not in names):
            raise InputError(
                "the job has no such table",
                found=f"{self.job} of {self.stage}, {table or 'whatever table there is'}",
                expected=f"one of {', '.join(names)}" if names else "a job that has tables, or units",
            )
        found: Any = self.tables[table or names[0]]
        made: pd.DataFrame = found.to_pandas() if hasattr(found, "to_pandas") else found
        return made

    @property
    def stage(self) -> str:
        """Name of the stage that made it."""
        return str(self.record["stage"])

    @property
    def partition(self) -> str | None:
        """Which part of the data it is of; None: all."""
        partition = self.record["partition"]
        return None if partition is None else str(partition)

    @property
    def facts(self) -> dict[str, Any]:
        """Plain data beside the arrays: names, counts, notes. A copy: who changes it changes nothing here."""
        types = self._types
        return {name: as_given(each, types.get(name)) for name, each in self.record["facts"].items()}

    @property
    def _types(self) -> Mapping[str, Plain]:
        return self.record.get("types", {})

    @property
    def problem(self) -> str | None:
        """Why the input was rejected, if it was."""
        problem = self.record.get("problem")
        return None if problem is None else str(problem)

    @cached_property
    def setup(self) -> Setup:
        """exax's own record of the job: method, options, jobs, hash of the code, times."""
        loaded: Setup = json.loads((self.path / "setup.json").read_text(encoding="utf-8"))
        return loaded

    @property
    def method(self) -> str:
        """The method that made it."""
        return str(self.setup["method"])

    @property
    def options(self) -> dict[str, Plain]:
        """The options it was made with; a copy."""
        return copied({name: each for name, each in self.setup["options"].items() if name != EARLIER})

    @property
    def inputs(self) -> dict[str, str | list[str]]:
        """Job ids that it was made from, by the name the method gives them; of a dataset its job's."""
        made_from = {**self.setup.get("datasets", {}), **self.setup["jobs"]}
        return {name: _without_names(jobs) for name, jobs in made_from.items() if jobs}

    def sources(self) -> list[tuple[str, str]]:
        """Each job that it was made from: the name the method gives it, and its id.

        Returns
        -------
        list of tuple of str
        """
        return [
            (name, job)
            for name, jobs in self.inputs.items()
            for job in (jobs if isinstance(jobs, list) else [jobs])
        ]

    def ancestor(self, job: str) -> Result | None:
        """A job that it was made from, directly or through others, if its folder is still there.

        Ask it what made it. Its results may have been deleted or damaged since.

        Parameters
        ----------
        job : str
            Job id.

        Returns
        -------
        Result or None
            With a record that says no more than exax does, if its own is damaged or deleted; None if its
            folder is gone.
        """
        workdir = job.rpartition("-")[0]
        mine = workdir == self.job.rpartition("-")[0]
        here = self.path.parent if mine else self.where.workdirs.get(workdir)
        if here is None or not (here / job / "setup.json").is_file():
            return None
        try:
            return open_result(here / job, self.where)
        except InputError:
            return bare_result(here / job, self.where)

    @property
    def made(self) -> datetime:
        """When it was made, local time."""
        return datetime.fromtimestamp(self.setup["starttime"]).astimezone()

    @property
    def seconds(self) -> float:
        """How long it took."""
        return float(self.setup["exectime"]["total"])

    def __repr__(self) -> str:
        who = f" of {self.partition}" if self.partition else ""
        return one_line(f"<{self.job}: {self.stage}{who}, {', '.join(self.names()) or 'nothing'}>")


def _without_names(jobs: str | list[str]) -> str | list[str]:
    """Jobs of datasets, which exax writes as ``"main-12/name"``."""
    return [each.partition("/")[0] for each in jobs] if isinstance(jobs, list) else jobs.partition("/")[0]


def open_result(folder: str | Path, where: Where | None = None) -> Result:
    """The job in a folder.

    Parameters
    ----------
    folder : path-like
        Folder of the job.
    where : Where, optional
        Where input files and other jobs are. Default: not known, so that arrays which lie in input files
        cannot be read.

    Returns
    -------
    Result

    Raises
    ------
    OtherFormat
        If another version of this package wrote it.
    TransientError
        If it has no record, or a damaged one.
    """
    path = Path(folder)
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except OSError as error:
        raise TransientError(
            f"the record of a job cannot be read ({error.strerror})", file=path / RECORD, hint="run again"
        ) from None
    except ValueError:
        raise TransientError(
            "the record of a job is damaged", file=path / RECORD, hint="run again: it is built again"
        ) from None
    if record.get("format", 0) != FORMAT:
        raise OtherFormat(
            "the job was kept in another format, by another version of Shortloop",
            file=path / RECORD,
            found=f"format {record['format']}" if "format" in record else "no format number",
            expected=f"format {FORMAT}",
            hint="run again: it is built again when it is needed",
        )
    return Result(path.name, path, record, where or Where())


def bare_result(folder: Path, where: Where) -> Result:
    """A job that left no record, or whose record is of no use: what exax says of it.

    Parameters
    ----------
    folder : Path
        Folder of the job.
    where : Where
        Where input files and other jobs are.

    Returns
    -------
    Result
        Without arrays and facts.
    """
    bare = Result(folder.name, folder, _bare_record("", None), where)
    return replace(bare, record=_bare_record(bare.method, bare.options.get("partition")))


def _bare_record(stage: str, partition: Plain) -> Record:
    return {
        "format": FORMAT,
        "stage": stage,
        "partition": None if partition is None else str(partition),
        "arrays": {},
        "facts": {},
        "threads": [],
        "versions": {},
        "problem": None,
    }
