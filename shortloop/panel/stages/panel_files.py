"""Files of a job that hold columns of a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shortloop.base.plain import Plain
from shortloop.base.types import IntArray
from shortloop.panel.column import Column
from shortloop.panel.data import Panel
from shortloop.stages.stage import File, Finished, Job, Values


def import_results(panel: Panel, file: File | None = None) -> Finished:
    source: Plain = None if file is None else {"name": file.path.name, "content": file.content}
    rows, notes = int(panel.starts[-1]), list(panel.notes)
    return panel_results(
        panel.columns, panel.by, panel.keys, panel.starts, rows=rows, notes=notes, file=source
    )


def panel_results(
    columns: Mapping[str, Column],
    by: Sequence[str],
    keys: Sequence[Sequence[str]],
    starts: IntArray,
    **more: Plain,
) -> Finished:
    """Make the results of a job that holds columns, groups and further facts."""
    arrays = {
        "starts": Values(starts, "bounds of groups", "first row of each group, and the end of the last")
    }
    listed: list[Plain] = []
    for number, (name, column) in enumerate(columns.items()):
        codes = ": which level; -1: none" if column.values.dtype == np.int32 else ""
        arrays[_array(number)] = Values(column.values, "rows", f"column {name}{codes}")
        levels = None if column.levels is None else list(column.levels)
        listed.append({"name": name, "levels": levels, "refused": column.refused, "dtype": column.dtype})
    facts = {"columns": listed, "by": list(by), "keys": [list(key) for key in keys]}
    return Finished({**facts, **more}, arrays)


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
    return [tuple(key) for key in job.facts["keys"]]


def _array(number: int) -> str:
    return f"column_{number:04d}"
