"""Looking a job up by its id: its arrays, what made it, from what, with which options."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.errors import InputError
from shortloop.jobs.project import job_directory
from shortloop.jobs.records import RECORD

if TYPE_CHECKING:  # build scripts look jobs up; most need no array
    import numpy as np

__all__ = ["Arrays", "Result", "load", "open_result"]

FINISHED = "post.json"  # exax writes it last


class Arrays(Mapping[str, "np.ndarray"]):
    """The arrays of a job by name, as read-only memory maps, opened when asked for."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._names = names

    def __getitem__(self, name: str) -> np.ndarray:
        import numpy as np

        if name not in self._names:
            raise KeyError(f"{name}; there are {', '.join(self._names) or 'none'}")
        array: np.ndarray = np.load(self._folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"Arrays({', '.join(self._names)})"


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
        What the job wrote of itself: stage, participant, arrays, facts, threads, versions, problem.
    """

    job: str
    path: Path
    record: dict[str, Any]

    @cached_property
    def arrays(self) -> Arrays:
        """Arrays by name, as read-only memory maps."""
        return Arrays(self.path, tuple(self.record["arrays"]))

    @property
    def stage(self) -> str:
        """Name of the stage that made it."""
        return str(self.record["stage"])

    @property
    def participant(self) -> str | None:
        """Whose data it holds; None: everybody's."""
        participant = self.record["participant"]
        return None if participant is None else str(participant)

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
        who = f" of {self.participant}" if self.participant else ""
        return f"<{self.job}: {self.stage}{who}, arrays {', '.join(self.arrays) or 'none'}>"


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
    if not (result.path / FINISHED).is_file():
        raise InputError("the job did not finish", found=result.job, hint="run again")
    return result


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
        finished = (path / FINISHED).is_file()
        problem = "the job left no record" if finished else "the job did not finish"
        raise InputError(problem, found=path.name, hint=hint) from None
    except ValueError:
        raise InputError("the job's record is damaged", file=path / RECORD, hint=hint) from None
    return Result(path.name, path, record)
