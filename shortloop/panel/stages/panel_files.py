"""Files of a job that hold columns of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import formulaic  # noqa: F401  before jobs are forked; most formulas need it, and each job would import it
import numpy as np

from shortloop.base.plain import Plain
from shortloop.panel.data import Panel
from shortloop.panel.formulas.column import Column
from shortloop.stages.stage import File, Finished, Job, Values

ORDER = "order"


def import_results(panel: Panel, file: File | None = None) -> Finished:
    source: Plain = None if file is None else {"name": file.path.name, "content": file.content}
    rows, notes = int(panel.starts[-1]), list(panel.notes)
    made = panel_results(panel, rows=rows, source_rows=panel.source_rows, notes=notes, file=source)
    if panel.order is None:
        return made
    order = panel.order.astype(np.int32 if panel.source_rows < 2**31 else np.int64)
    return replace(
        made, arrays={**made.arrays, ORDER: Values(order, "rows", "which row of the source it is")}
    )


def panel_results(panel: Panel, **more: Plain) -> Finished:
    """Make the results of a job that holds columns, groups and further facts."""
    starts = Values(panel.starts, "bounds of groups", "first row of each group, and the end of the last")
    arrays = {"starts": starts}
    listed: list[Plain] = []
    for number, (name, column) in enumerate(panel.columns.items()):
        codes = ": which level; -1: none" if column.values.dtype == np.int32 else ""
        arrays[_array(number)] = Values(column.values, "rows", f"column {name}{codes}")
        levels = None if column.levels is None else list(column.levels)
        listed.append({"name": name, "levels": levels, "refused": column.refused, "dtype": column.dtype})
    facts = {"columns": listed, **group_facts(panel.by, panel.keys, panel.kinds)}
    return Finished({**facts, **more}, arrays)


def load_panel(job: Job) -> Panel:
    """Load the panel of a job, its columns as memory maps."""
    facts = job.facts  # a copy, of perhaps many groups
    columns = {
        each["name"]: Column(
            job.arrays[_array(number)],
            None if each["levels"] is None else tuple(each["levels"]),
            each["refused"],
            each["dtype"],
        )
        for number, each in enumerate(facts["columns"])
    }
    keys = [*map(tuple, facts["keys"])]
    starts, order = np.asarray(job.arrays["starts"]), job.arrays.get(ORDER)
    rows, by, kinds = facts.get("source_rows", 0), tuple(facts["by"]), tuple(facts["kinds"])
    return Panel(by, keys, starts, columns, order=order, source_rows=rows, kinds=kinds)


def group_facts(by: Sequence[str], keys: Sequence[Sequence[str]], kinds: Sequence[str]) -> dict[str, Plain]:
    """Make the facts about groups."""
    return {"by": list(by), "keys": [list(key) for key in keys], "kinds": list(kinds)}


def _array(number: int) -> str:
    return f"column_{number:04d}"
