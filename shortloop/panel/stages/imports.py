"""Imports of rows as columns, group by group, and where in their file these rows are; datasets of exax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortloop.base.errors import InputError
from shortloop.stages.dataset import Dataset
from shortloop.stages.results import open_result
from shortloop.stages.stage import File, Finished, Job, Outputs, Stage, Values

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("float64", "float32", "int64", "int32", "bits64", "bits32", "number")
TRUTH = "bool"
TEXTS = ("unicode", "ascii")


class ImportPanel(Stage):
    """Import: a file of rows to columns, group by group."""

    settings: dict[str, object]  # of the format; where the file is is no part of it
    file: File | None
    by: list[str]
    blocks: int
    seed: int  # of a simulated panel

    def finish(self, out: Outputs) -> Finished:
        from shortloop.panel.data import from_frame
        from shortloop.panel.formats.panel_format import PanelInput
        from shortloop.panel.stages.panel_files import import_results

        settings: Any = PanelInput.model_validate(self.settings)
        frame = settings.load(None if self.file is None else self.file.path, self.by, self.seed)
        return import_results(from_frame(frame, self.by, self.blocks), self.file)


class ImportDataset(Stage):
    """Import: a dataset of exax to columns, group by group."""

    rows: Dataset
    by: list[str]
    blocks: int
    columns: list[str]  # empty: all
    order: str  # column that says in which order they were; empty: by their values

    def finish(self, out: Outputs) -> Finished:
        from shortloop.panel.data import from_frame
        from shortloop.panel.stages.panel_files import import_results

        return import_results(from_frame(frame_of(self.rows, self.columns, self.order), self.by, self.blocks))


class RowNumbers(Stage):
    """Row numbers: places of each group's rows in the file."""

    panel: Job  # not of blocks, so that no fit depends on the order of the file

    def is_small(self) -> bool:
        return True

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        from shortloop.panel.stages.panel_files import load_panel

        panel = load_panel(self.panel)
        kind = np.int32 if panel.source_rows < 2**31 - 1 else np.int64
        numbers = Values((panel.origins() + 1).astype(kind), "rows", "number in the file, from 1")
        starts = Values(panel.starts, "bounds of groups", "first row of each group, and the end of the last")
        return Finished({"keys": [list(key) for key in panel.keys]}, {"numbers": numbers, "starts": starts})


def frame_of(rows: Dataset, columns: Sequence[str] = (), order: str = "") -> pd.DataFrame:
    """Read a dataset and those that it is chained to, in an order that does not depend on slices."""
    import numpy as np
    import pandas as pd

    known: Any = rows.columns
    types = {name: known[name].type for name in known}
    usable = [name for name, kind in types.items() if kind in (*NUMBERS, TRUTH, *TEXTS)]
    wanted = list(columns) or [name for name in usable if name != order]
    for name in wanted:
        if name not in types:
            problem, expected = "the dataset has no such column", f"one of {', '.join(types)}"
            raise InputError(problem, field="columns", found=name, expected=expected)
        if name not in usable:
            found, hint = f"{name}, of type {types[name]}", "give it a type with exax's `dataset_type`"
            raise InputError("unsupported column type", field="columns", found=found, hint=hint)
    frame = pd.DataFrame({name: _values(rows, name, types[name]) for name in wanted}, copy=False)
    if order:
        place = np.argsort(_values(rows, order, types[order]), kind="stable")
        return frame.iloc[place].reset_index(drop=True)
    return frame.sort_values(wanted, kind="stable", ignore_index=True) if wanted else frame


def _values(rows: Dataset, name: str, kind: str) -> Any:
    import numpy as np
    import pandas as pd

    from shortloop.panel.formulas.column import EXACT

    each = rows.iterate_chain(None, name)
    if kind in TEXTS or kind == TRUTH:
        return np.array(list(each), object)
    if kind in ("int64", "int32"):  # whole numbers beyond 2**53 may make groups
        found = list(each)
        if None not in found:
            return np.array(found, np.int64)
        is_large = any(each is not None and abs(each) >= EXACT for each in found)
        return pd.array(found, "Int64") if is_large else np.array(found, np.float64)
    return np.array(list(each), np.float64)  # None becomes NaN


def write_tables(folder: Path, writer: Callable[..., Any]) -> dict[str, int]:
    """Write the tables of a job as datasets of another one; return their numbers of rows."""
    tables = open_result(folder).tables
    for name, table in tables.items():
        frame: Any = table
        floats = {each for each in frame.columns if frame[each].dtype.kind == "f"}
        columns = {str(each): "float64" if each in floats else "unicode" for each in frame.columns}
        write = writer(name=name, columns=columns, hashlabel=str(frame.columns[0])).get_split_write_dict()
        for row in zip(*(frame[each] if each in floats else map(str, frame[each]) for each in frame.columns)):
            write(dict(zip(columns, row)))
    return {name: len(tables[name]) for name in tables}
