"""Looking a job up by its id: its arrays, what made it, from what, with which options."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.errors import InputError
from shortloop.jobs.project import DELETED, FINISHED, SET_ASIDE, job_directory
from shortloop.jobs.system_errors import unreadable
from shortloop.text import one_line
from shortloop.worker.records import RECORD

if TYPE_CHECKING:  # build scripts look jobs up; most need no array
    import numpy as np

__all__ = ["Arrays", "Result", "load", "load_ancestor", "open_result"]


class Arrays(Mapping[str, "np.ndarray"]):
    """The arrays of a job by name, as read-only memory maps, opened when asked for."""

    def __init__(self, folder: Path, described: Mapping[str, Mapping[str, Any]]) -> None:
        self._folder = folder
        self._described = described

    def __getitem__(self, name: str) -> np.ndarray:
        import numpy as np

        if name not in self._described:
            raise KeyError(f"{name}; there are {', '.join(self._described) or 'none'}")
        outside = self._described[name].get("outside")
        if outside is not None:
            return _map_outside(outside, f"{self._folder.name}, {name}")
        array: np.ndarray = np.load(self._folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._described)

    def __len__(self) -> int:
        return len(self._described)

    def __repr__(self) -> str:
        return one_line(f"Arrays({', '.join(self._described)})")


@dataclass(frozen=True)
class Result:
    """One finished job.

    Parameters
    ----------
    job : str
        Job id.
    path : Path
        Its folder.
    record : dict
        What the job wrote of itself: stage, partition, arrays, facts, threads, versions, problem.
    """

    job: str
    path: Path
    record: dict[str, Any]

    @cached_property
    def arrays(self) -> Arrays:
        """Arrays by name, as read-only memory maps: of files of the job, or of those it was made from."""
        return Arrays(self.path, self.record["arrays"])

    @property
    def stage(self) -> str:
        """Name of the stage that made it."""
        return str(self.record["stage"])

    @property
    def partition(self) -> str | None:
        """Whose data it holds; None: everybody's."""
        partition = self.record["partition"]
        return None if partition is None else str(partition)

    @property
    def facts(self) -> dict[str, Any]:
        """Plain data beside the arrays: classes, counts, notes."""
        return dict(self.record["facts"])

    @property
    def problem(self) -> str | None:
        """Why the input was rejected, if it was."""
        problem = self.record.get("problem")
        return None if problem is None else str(problem)

    @cached_property
    def setup(self) -> dict[str, Any]:
        """exax's own record of the job: method, options, jobs, hash of the code, times."""
        loaded: dict[str, Any] = json.loads((self.path / "setup.json").read_text(encoding="utf-8"))
        return loaded

    @property
    def method(self) -> str:
        """The method that made it."""
        return str(self.setup["method"])

    @property
    def options(self) -> dict[str, Any]:
        """The options it was made with."""
        return dict(self.setup["options"])

    @property
    def inputs(self) -> dict[str, Any]:
        """Job ids that it was made from, by the name the method gives them."""
        return {name: jobs for name, jobs in self.setup["jobs"].items() if jobs}

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
        return one_line(f"<{self.job}: {self.stage}{who}, arrays {', '.join(self.arrays) or 'none'}>")


def load(job: str) -> Result:
    """Arrays and record of a job by its id; no server is needed.

    Parameters
    ----------
    job : str
        Job id, e.g. ``"main-12"``.

    Returns
    -------
    Result
        ``load("main-12").arrays["weights"]``, ``.facts``, ``.options``, ``.inputs``, ``.record``, …

    Raises
    ------
    InputError
        If there is no such job, it did not finish, it is not one of this package, or its record is damaged.
    """
    result = open_result(job_directory(str(job)))
    if not os.path.isfile(result.path / FINISHED):
        raise InputError(_why_not(result.path), found=result.job, hint="run again: it is built again")
    return result


def load_ancestor(job: str) -> Result | None:
    """A job that others were made from, as far as it is still there; for what made it, not for its results.

    Parameters
    ----------
    job : str
        Job id.

    Returns
    -------
    Result or None
        With a record that says no more than exax does, if its own is damaged or deleted; None if its folder
        is gone.
    """
    try:
        folder = job_directory(job)
    except InputError:
        return None
    try:
        return open_result(folder)
    except InputError:
        result = Result(folder.name, folder, {})
        known = {"stage": result.method, "partition": result.options.get("partition")}
        empty: dict[str, Any] = {"arrays": {}, "facts": {}, "threads": [], "versions": {}}
        return Result(folder.name, folder, {**known, **empty})


def open_result(folder: str | Path) -> Result:
    """The job in a folder; see `load`.

    Parameters
    ----------
    folder : path-like
        Folder of the job.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        If it has no record, or a damaged one.
    """
    path = Path(folder)
    hint = f"`ax job {path.name}` shows what exax knows of it"
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(_why_not(path), found=path.name, hint=hint) from None
    except OSError as error:
        raise unreadable(error, "the job's record") from None
    except ValueError:
        raise InputError("the job's record is damaged", file=path / RECORD, hint=hint) from None
    return Result(path.name, path, record)


def _map_outside(outside: Mapping[str, Any], what: str) -> np.ndarray:
    from shortloop.jobs.store.inputs import locate
    from shortloop.span import Span

    try:
        file = locate(outside["content"])
    except InputError as error:
        raise InputError(
            "a file that holds data of a job is gone, or not what it was",
            file=error.file or outside["name"],
            field=what,
            found=error.problem,
            expected=f"{outside['name']}, content {outside['content']}",
            hint="put the file back as it was and run again; the job keeps no copy of what it has checked",
        ) from None
    return Span(**outside["span"]).map(file)


def _why_not(folder: Path) -> str:
    if (folder / FINISHED).is_file():
        return "the job left no record"
    if (folder / DELETED).is_file():
        return "the job was deleted"
    return "the job was found damaged" if (folder / SET_ASIDE).is_file() else "the job did not finish"
