"""A finished job: its arrays, options and input jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast

from shortloop.base.errors import InputError, TransientError
from shortloop.base.plain import Plain, copied
from shortloop.base.text import one_line
from shortloop.stages.exact_values import ARRAY, as_given
from shortloop.stages.lazy_results import Arrays, Tables
from shortloop.stages.records import EARLIER, FORMAT, RECORD, RETRIED, ROWS, Record
from shortloop.stages.tables import unit_frame

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.stages.objects import Objects


@dataclass(frozen=True)
class Where:
    """Places of files and jobs on this machine, which are in no key."""

    files: Mapping[str, Path] = field(default_factory=dict)  # by their content
    workdirs: Mapping[str, Path] = field(default_factory=dict)  # by name
    trusted: bool = False  # True if objects of any job may be read, whoever wrote them


class Setup(TypedDict, total=False):
    """The part of exax's own record of a job that is used here; less of it if the job did not finish."""

    method: str
    package: str
    hash: str
    options: dict[str, Plain]
    jobs: dict[str, str | list[str] | None]
    datasets: dict[str, str | list[str] | None]
    _typing: list[tuple[str, str]]
    slices: int
    starttime: float
    endtime: float
    exectime: dict[str, float]  # s
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
        Its own description: stage, partition, arrays, facts, threads, versions, problem.
    where : Where
        Places of the files of its arrays, and of the jobs that it was made from.
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
        """Get a result by its name: array, table, fact, figure or file; the last two as paths.

        An object that is no plain data, such as a fitted model, is read anew each time. Objects of units are
        a mapping by their names.
        """
        if name in self.arrays:
            array = self.arrays[name]
            return array if array.ndim or self._types.get(name) == ARRAY else array[()]
        if name in self.record.get("objects", {}):
            return self._objects[name]
        if name in self.tables:
            return self.tables[name]
        if name in self.record["facts"]:
            return as_given(self.record["facts"][name], self._types.get(name))
        if (path := {**self.files, **self.figures}.get(name)) is not None:
            return path
        raise KeyError(f"{name}; {self.job} has {', '.join(self.names()) or 'nothing'}")

    def names(self) -> list[str]:
        """List the names of all results: arrays, tables, facts, figures and files."""
        facts = [*self.record["facts"], *self.record.get("objects", {})]
        return [*self.arrays, *self.tables, *facts, *self.figures, *self.files]

    def to_frame(self, table: str = "") -> pd.DataFrame:
        """Read a table of the job, or the values of its units, as a frame of pandas.

        Parameters
        ----------
        table : str, optional
            Its name. Default: the first table; of a job of units without tables, a row for each unit, their
            names as index, and a column for each array of one value per unit.

        Raises
        ------
        InputError
            If there is no such table.
        """
        names, units = list(self.tables), self.record["facts"].get("units")
        if not table and not names and isinstance(units, list) and (self.path / ROWS).is_file():
            columns: dict[str, Any] = {name: each[:] for name, each in self.arrays.items() if each.ndim == 1}
            if "errors" in self.record:
                errors = {repr(unit): error for unit, error in self.record["errors"]["failed"]}
                columns["unit_error"] = [errors.get(repr(unit)) for unit in units]
            return unit_frame(units, columns)
        if not names or (table and table not in names):
            said = f"{self.job} of {self.stage}, {table or 'whatever table there is'}"
            expected = f"one of {', '.join(names)}" if names else "a job that has tables, or units"
            raise InputError("the job has no such table", found=said, expected=expected)
        found: Any = self.tables[table or names[0]]
        made: pd.DataFrame = found.to_pandas() if hasattr(found, "to_pandas") else found
        return made

    @property
    def stage(self) -> str:
        """Name of the stage that made it."""
        return self.record["stage"]

    @property
    def partition(self) -> str | None:
        """The part of the data that it is of; None: all."""
        return self.record["partition"]

    @property
    def facts(self) -> dict[str, Any]:
        """A copy of all results beside arrays, tables and files: names, counts, notes, models."""
        facts = {name: as_given(fact, self._types.get(name)) for name, fact in self.record["facts"].items()}
        return {**facts, **self._objects} if self.record.get("objects") else facts

    @cached_property
    def _objects(self) -> Objects:
        from shortloop.stages.objects import Objects

        def units() -> list[object]:
            return cast("list[object]", as_given(self.record["facts"]["units"], self._types.get("units")))

        return Objects(self.path, self.record.get("objects", {}), units, self._allow)

    def _allow(self, pickle: Path) -> None:
        """Refuse to read a pickle that somebody else wrote, as reading it runs their code."""
        from shortloop.stages.objects import refusal

        why = "" if self.where.trusted else self._refusal(pickle) or refusal(pickle)
        if why:
            problem = "an object of a job is not read, as somebody else may have written it"
            expected = "a job of this project, whose files are yours: to read an object runs what is in it"
            hint = (
                f'`shortloop.load("{self.job}", trusted=True)` if you trust who wrote it; in a stage, '
                f"`shortloop run … --force {self.job}` builds it again"
            )
            raise TransientError(problem, file=pickle, found=why, expected=expected, hint=hint)

    def _refusal(self, pickle: Path) -> str:
        """Reason why a pickle is not of this project; stages are given jobs of their project alone."""
        return ""

    @property
    def errors(self) -> dict[Any, str]:
        """Error of each unit that failed, by its name, of a stage with ``on_error = "keep"``."""
        failed = self.record.get("errors", {}).get("failed", [])
        return {tuple(unit) if isinstance(unit, list) else unit: error for unit, error in failed}

    @property
    def _types(self) -> Mapping[str, Plain]:
        return self.record.get("types", {})

    @property
    def problem(self) -> str | None:
        """Why the input was rejected, if it was."""
        return self.record.get("problem")

    @cached_property
    def setup(self) -> Setup:
        """Record of the job by exax: method, options, jobs, hash of the code, times."""
        return cast("Setup", json.loads((self.path / "setup.json").read_text(encoding="utf-8")))

    @property
    def method(self) -> str:
        """The method that made it."""
        return str(self.setup["method"])

    @property
    def options(self) -> dict[str, Plain]:
        """The options it was made with; a copy."""
        return copied(
            {name: each for name, each in self.setup["options"].items() if name not in (EARLIER, RETRIED)}
        )

    @property
    def inputs(self) -> dict[str, str | list[str]]:
        """Ids of jobs that it was made from, by their name in the method; of a dataset its job's."""
        return _inputs_of(self.setup)

    def sources(self) -> list[tuple[str, str]]:
        """List the jobs that it was made from: name in the method, and id of each."""
        return sources_of(self.setup)

    def ancestor(self, job: str) -> Result | None:
        """Find a job that it was made from, directly or through others; None if its folder is gone.

        Its results may have been deleted or damaged since. If its record was, it has only what exax knows.
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
        """Time at which it was made, local time."""
        return datetime.fromtimestamp(self.setup["starttime"]).astimezone()

    @property
    def seconds(self) -> float:
        """Duration in seconds."""
        return float(self.setup["exectime"]["total"])

    def __str__(self) -> str:
        return self.job

    def __repr__(self) -> str:
        who = f" of {self.partition}" if self.partition else ""
        return one_line(f"<{self.job}: {self.stage}{who}, {', '.join(self.names()) or 'nothing'}>")


def sources_of(setup: Setup) -> list[tuple[str, str]]:
    """List the jobs that a job was made from: name in the method, and id of each."""
    return [
        (name, job)
        for name, jobs in _inputs_of(setup).items()
        for job in (jobs if isinstance(jobs, list) else [jobs])
    ]


def _inputs_of(setup: Setup) -> dict[str, str | list[str]]:
    """Ids of jobs by name: those given as jobs, as files in options, and as datasets, of the job of each."""
    given = dict(setup.get("jobs", {}))
    options = setup.get("options", {})
    for path, kind in setup.get("_typing", ()):  # exax notes which options are files of jobs
        if "JobWithFile" in kind:
            name = path.partition("/")[0]
            given[name] = list(_jobs_in(options.get(name)))
    taken = {name for name, jobs in given.items() if jobs}
    for name, datasets in setup.get("datasets", {}).items():
        given[f"datasets.{name}" if name in taken else name] = datasets
    found: dict[str, str | list[str]] = {}
    for name, jobs in given.items():
        if jobs:  # those of datasets are followed by the name of the dataset, as in "main-12/name"
            ids = [job.partition("/")[0] for job in ([jobs] if isinstance(jobs, str) else jobs)]
            found[name] = ids[0] if isinstance(jobs, str) else ids
    return found


def _jobs_in(value: Plain) -> Iterator[str]:
    """Jobs of files in an option: each is a list that begins with the job's id."""
    if isinstance(value, list) and value and isinstance(value[0], str):
        yield value[0]
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _jobs_in(each)


def open_result(folder: str | Path, where: Where | None = None) -> Result:
    """Open the job in a folder."""
    path = Path(folder)
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        how = f"cannot be read ({error.strerror})" if isinstance(error, OSError) else "is damaged"
        hint = "run again to rebuild it"
        raise TransientError(f"the record of a job {how}", file=path / RECORD, hint=hint) from None
    if record.get("format", 0) != FORMAT:
        problem = "the job is in the format of another version of Shortloop"
        file = path / RECORD
        found = f"format {record['format']}" if "format" in record else "no format number"
        advice = "run again: the job is rebuilt when needed"
        raise TransientError(problem, file=file, found=found, expected=f"format {FORMAT}", hint=advice)
    return Result(path.name, path, record, where or Where())


def bare_result(folder: Path, where: Where) -> Result:
    """Describe a job without a usable record by exax's own: no arrays, no facts."""
    record: dict[str, Any] = {"format": FORMAT, "arrays": {}, "facts": {}, "threads": [], "versions": {}}
    record["problem"] = None
    bare = Result(folder.name, folder, cast("Record", record), where)
    partition = bare.options.get("partition")
    record |= {"stage": bare.method, "partition": None if partition is None else str(partition)}
    return bare


def upstream(*results: Result) -> Iterator[Result]:
    """Iterate over jobs and all that they were made from."""
    seen = {result.job for result in results}
    waiting = [*results]
    while waiting:
        found = waiting.pop(0)
        yield found
        jobs = dict.fromkeys(job for _, job in found.sources() if job not in seen)
        seen.update(jobs)
        waiting += [each for each in map(found.ancestor, jobs) if each is not None]
