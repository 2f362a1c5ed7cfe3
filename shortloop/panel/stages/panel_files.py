"""Files of a job that hold columns of a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from shortloop.panel.column import Column
from shortloop.panel.data import Panel
from shortloop.stages.stage import File, Finished, Values

if TYPE_CHECKING:
    from shortloop.base.plain import Plain
    from shortloop.base.types import IntArray
    from shortloop.stages.stage import Job

__all__ = ["column_facts", "column_values", "import_results", "load_columns", "load_keys"]


def import_results(panel: Panel, file: File | None = None) -> Finished:
    """Make the results of an import job."""
    facts = column_facts(panel.columns, panel.by, panel.keys)
    source: Plain = None if file is None else {"name": file.path.name, "content": file.content}
    return Finished(
        {**facts, "rows": int(panel.starts[-1]), "notes": list(panel.notes), "file": source},
        column_values(panel.columns, panel.starts),
    )


def column_values(columns: Mapping[str, Column], starts: IntArray) -> dict[str, Values]:
    """List the arrays of columns, and the bounds of groups."""
    found = {
        _array(number): Values(
            column.values,
            "rows",
            f"column {name}" + ": which level; -1: none" * (column.values.dtype == np.int32),
        )
        for number, (name, column) in enumerate(columns.items())
    }
    return {
        "starts": Values(starts, "bounds of groups", "first row of each group, and the end of the last"),
        **found,
    }


def column_facts(
    columns: Mapping[str, Column], by: Sequence[str], keys: Sequence[Sequence[str]]
) -> dict[str, Plain]:
    """Describe columns and groups."""
    return {
        "columns": [
            {
                "name": name,
                "levels": None if column.levels is None else list(column.levels),
                "refused": column.refused,
                "dtype": column.dtype,
            }
            for name, column in columns.items()
        ],
        "by": list(by),
        "keys": [list(key) for key in keys],
    }


def load_columns(job: Job) -> dict[str, Column]:
    """Load columns of a job as memory maps."""
    return {
        each["name"]: Column(
            job.arrays[_array(number)],
            None if each["levels"] is None else tuple(each["levels"]),
            each["refused"],
            each["dtype"],
        )
        for number, each in enumerate(job.facts["columns"])
    }


def load_keys(job: Job) -> list[tuple[str, ...]]:
    """Load the values that make each group."""
    return [tuple(key) for key in job.facts["keys"]]


def _array(number: int) -> str:
    return f"column_{number:04d}"
