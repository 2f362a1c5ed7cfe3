"""A finished job as its user has it: its numbers also as xarray and pandas hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.errors import InputError
from shortloop.jobs.store.labelled import array_frame, dataset
from shortloop.worker.results import Result

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["LoadedJob"]


class LoadedJob(Result):
    """A finished job, which was looked up and is not in the hands of a stage.

    Stages are given the `Result` that it is: what is only here is in no key.
    """

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
        """A table of the job, or one of its arrays as a table.

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
