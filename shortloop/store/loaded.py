"""A finished job for users, with xarray and pandas views of its numbers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.project.project import project_directory
from shortloop.stages.records import FAILED_UNITS
from shortloop.stages.results import Result
from shortloop.store.labelled import array_frame, dataset
from shortloop.store.manifest import read_manifest
from shortloop.store.workdir import project_at

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["LoadedJob"]


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
        return dataset(self)

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
            return array_frame(self, table)
        try:
            return super().to_frame(table)
        except InputError as error:
            if type(error) is not InputError or not self.arrays:
                raise
            raise InputError(
                error.problem,
                found=error.found,
                expected=f"one of {', '.join([*self.tables, *self.arrays])}",
            ) from None

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
