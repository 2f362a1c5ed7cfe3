"""A finished job for users: looked up by its id, with xarray and pandas views of its numbers."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from shortloop.base.errors import InputError
from shortloop.base.extras import need
from shortloop.project.project import (
    DELETED,
    FINISHED,
    SET_ASIDE,
    configuration,
    job_directory,
    project_directory,
)
from shortloop.project.system_errors import unreadable
from shortloop.stages.records import FAILED_UNITS, RECORD, Record, axes_of
from shortloop.stages.results import Result, Where, bare_result, open_result, upstream
from shortloop.store.inputs import Located
from shortloop.store.manifest import read_manifest
from shortloop.store.setup import json_object
from shortloop.store.workdir import project_at

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import xarray as xr

    from shortloop.base.plain import Plain


def load(job: str, trusted: bool = False) -> LoadedJob:
    """Arrays and record of a job by its id; no server is needed.

    Parameters
    ----------
    job : str
        Job id, e.g. ``"main-12"``.
    trusted : bool, default False
        True if objects may be read that another project or another user wrote: reading an object, such as a
        fitted model, runs what is in its file. All else is read in any case.

    Returns
    -------
    LoadedJob
        ``load("main-12").arrays["weights"]``, ``.to_xarray()``, ``.to_frame()``, ``.facts``, ``.options``,
        ``.inputs``, ``.record``, …

    Raises
    ------
    InputError
        If there is no such job, it did not finish, it is not one of this package, or its record is damaged.
    """
    result = open_job(job_directory(str(job)), trusted)
    if not os.path.isfile(result.path / FINISHED):
        raise InputError(_why_not(result.path), found=result.job, hint="run again to rebuild it")
    return result


def look_up(job: str) -> Result:
    """Load a job like `load`, or a job of a foreign method, which leaves files and no record."""
    folder = job_directory(str(job))
    if (folder / FINISHED).is_file() and not (folder / RECORD).exists():
        manifest = read_manifest(folder)
        if manifest is not None and RECORD not in manifest.files:
            return bare_result(folder, here())
    return load(job)


def open_any(folder: Path) -> Result:
    """Load the finished job in a folder; of a foreign method, the files that it registered with exax."""
    if (folder / RECORD).exists():
        return open_job(folder)
    bare = bare_result(folder, here())
    names = cast("list[str]", json_object(folder / FINISHED).get("files", []))
    files = [name for name in names if not name.endswith(".pickle") and (folder / name).is_file()]
    return replace(bare, record={**bare.record, "files": sorted(files)})


def here() -> Where:
    """Locations of this project's input files and jobs."""
    return Where(Located(), {name: Path(folder) for name, folder in configuration().workdirs.items()})


def open_job(folder: str | Path, trusted: bool = False) -> LoadedJob:
    """Load the job in a folder; see `load`."""
    path = Path(folder)
    try:
        os.stat(path / RECORD)
    except FileNotFoundError:
        hint = f"`ax job {path.name}` shows what exax knows of it"
        raise InputError(_why_not(path), found=path.name, hint=hint) from None
    except OSError as error:
        raise unreadable(error, "the job's record") from None
    found = open_result(path, replace(here(), trusted=trusted))
    return LoadedJob(found.job, found.path, found.record, found.where)


def _why_not(folder: Path) -> str:
    if (folder / FINISHED).is_file():
        return "the job left no record"
    if (folder / DELETED).is_file():
        return "the job was deleted"
    return "the job was found damaged" if (folder / SET_ASIDE).is_file() else "the job did not finish"


class LoadedJob(Result):
    """A finished job, which was looked up and is not in the hands of a stage.

    Stages are given the `Result` that it is: what is only here is in no key.
    """

    @property
    def tracebacks(self) -> dict[Any, str]:
        """Traceback of each unit that failed, by its name; empty where its process ended."""
        if not self.errors:
            return {}
        kept = json.loads((self.path / FAILED_UNITS).read_text(encoding="utf-8"))["tracebacks"]
        return {unit: text for unit, (_, text) in zip(self.errors, kept, strict=True)}

    def to_xarray(self) -> xr.Dataset:
        """All arrays of the job, with names for their axes and what stands along them.

        Returns
        -------
        Dataset
            A variable for each array, of its name. Times, or names, that the stage gives for an axis are
            coordinates. Values are not copied, and cannot be written to. Attributes of variables are
            ``units`` and ``long_name``; those of the whole ``job``, ``stage``, ``partition``, ``made``, and,
            as JSON, ``facts`` and ``provenance``: all jobs that it was made from, with options and versions.

        Raises
        ------
        TransientError
            If xarray is not installed.
        """
        need("xarray", ["xarray"])
        import numpy as np
        import xarray as xr

        axes, coordinates = dimensions(self.record)
        described = self.record["arrays"]
        variables = {}
        for name, values in self.arrays.items():
            said = {"long_name": described[name]["description"], "units": described[name]["unit"]}
            attributes = {label: text for label, text in said.items() if text}
            variables[name] = (axes[name], np.asarray(values), attributes)
        sources = {name: source for name, source in coordinates.items() if name not in variables}
        along = {name: (name, _places(self, source)) for name, source in sources.items()}
        return xr.Dataset(variables, along, _attributes(self))

    def to_frame(self, table: str = "") -> pd.DataFrame:
        """Read a table of the job, or one of its arrays as a table.

        Parameters
        ----------
        table : str, optional
            Which table, or which array. Default: the first table, or, of a job of units that a function
            computed, what each of them gave.

        Returns
        -------
        DataFrame
            Of pandas. Of an array it has a row for each value; the index is what stands along the axes.

        Raises
        ------
        InputError
            If there is no such table or array.
        """
        if table in self.arrays and table not in self.tables:
            return self._array_frame(table)
        try:
            return super().to_frame(table)
        except InputError as error:
            if type(error) is not InputError or not self.arrays:
                raise
            expected = f"one of {', '.join([*self.tables, *self.arrays])}"
            raise InputError(error.problem, found=error.found, expected=expected) from None

    def _array_frame(self, array: str) -> pd.DataFrame:
        need("tables", ["pandas"])
        import numpy as np
        import pandas as pd

        axes, coordinates = dimensions(self.record)
        values = np.asarray(self.arrays[array])
        levels = [
            _places(self, coordinates[name]) if name in coordinates else np.arange(length)
            for name, length in zip(axes[array], values.shape, strict=True)
        ]
        frame = pd.DataFrame({array: values.reshape(-1)})
        if len(levels) == 1:
            frame.index = pd.Index(levels[0], name=axes[array][0])
        elif levels:
            frame.index = pd.MultiIndex.from_product(levels, names=axes[array])
        return frame

    def _allow(self, pickle: Path) -> None:
        super()._allow(pickle)
        project = str(project_directory())  # whose modules a pickle names
        if project not in map(os.path.abspath, sys.path):
            sys.path.append(project)

    def _refusal(self, pickle: Path) -> str:
        workdir, project = Path(os.path.realpath(self.path.parent)), os.path.realpath(project_directory())
        if workdir.is_relative_to(project):
            return ""
        manifest = read_manifest(self.path)
        of = "" if manifest is None else manifest.project
        if of and os.path.realpath(project_at(workdir, of)) == project:
            return ""
        whose = f", of {project_at(workdir, of)}" if of else ""
        return f"it lies in {workdir}{whose}, and not in this project, {project}"


def dimensions(record: Record) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Name the axes of each array, valid for xarray, and the array or fact that holds coordinates of each."""
    arrays, said = record["arrays"], record.get("coordinates", {})
    lengths: dict[str, set[int]] = {}
    for each in arrays.values():
        for axis, length in zip(axes_of(each), each["shape"], strict=True):
            lengths.setdefault(axis, set()).add(length)
    # The array of an axis's name says what stands along it, if it has this axis alone.
    own = {axis: _name(axis) for axis in lengths if axis}
    own = {axis: name for axis, name in own.items() if name in arrays and axes_of(arrays[name]) == (axis,)}
    along = {axis: source for axis, source in {**own, **said}.items() if len(lengths.get(axis, ())) == 1}
    taken: dict[str, tuple[str, str, int]] = {}  # which axis each name is the name of
    of: dict[str, tuple[str, ...]] = {}
    coordinates: dict[str, str] = {}
    for array, each in arrays.items():
        axes, names = axes_of(each), []
        for place, axis in enumerate(axes):
            again = axes[:place].count(axis) if axis else 0  # as of a covariance
            owner = array if not axis or len(lengths[axis]) > 1 else ""
            text = axis or f"axis {place}"
            name = along[axis] if not again and along.get(axis) in arrays else _name(text, owner, again)
            this = (text, owner, again)
            # An array may be called as an axis only if it says what stands along it.
            while (name in arrays and along.get(axis) != name) or taken.setdefault(name, this) != this:
                name += "_"
            if axis in along:
                coordinates[name] = along[axis]
            names.append(name)
        of[array] = tuple(names)
    return of, coordinates


def facts_as_json(record: Record) -> dict[str, Plain]:
    """Give the facts of a job as JSON has them; of an object, its description."""
    return record["facts"] | {name: each["text"] for name, each in record.get("objects", {}).items()}


def _name(text: str, owner: str = "", again: int = 0) -> str:
    said = f"{text} of {owner}" if owner else text
    return (re.sub(r"\W+", "_", said).strip("_") or "axis") + (f"_{again + 1}" if again else "")


def _places(result: Result, source: str) -> np.ndarray:
    """Give the coordinates along an axis: numbers, or texts."""
    import numpy as np

    if source in result.arrays:
        return np.asarray(result.arrays[source])
    said = result.record["facts"][source]
    places = [", ".join(map(str, each)) if isinstance(each, list) else each for each in said]
    are_numbers = all(isinstance(each, int | float) and abs(each) < 2**63 for each in places)
    return np.array(places if are_numbers else ["" if each is None else str(each) for each in places])


def _attributes(result: Result) -> dict[str, str]:
    """Describe a job and all that it was made from, as texts, which all files can keep."""
    told = set(result.record.get("coordinates", {}).values())
    jobs = [
        {
            "job": each.job,
            "stage": each.stage,
            "partition": each.partition,
            "options": {name: option for name, option in each.options.items() if name != "partition"},
            "inputs": each.inputs,
            "versions": dict(each.record["versions"]),
        }
        for each in upstream(result)
    ]
    facts = {name: fact for name, fact in facts_as_json(result.record).items() if name not in told}
    found = {
        "job": result.job,
        "stage": result.stage,
        "partition": result.partition,
        "made": result.made.isoformat(timespec="seconds"),
        "problem": result.problem,
        "facts": json.dumps(facts, ensure_ascii=False) if facts else "",
        "provenance": json.dumps(jobs, ensure_ascii=False),
    }
    return {name: text for name, text in found.items() if text}
