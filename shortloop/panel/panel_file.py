"""Check of a panel file without a run: groups, columns and formulas."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from shortloop.analyses import Opened, Tell
from shortloop.base.errors import InputError
from shortloop.panel.data import Panel as Rows
from shortloop.panel.data import from_frame
from shortloop.panel.fitting.fit import Fitter
from shortloop.panel.formats.csvimport import CsvimportInput
from shortloop.panel.formats.panel_format import FileInput
from shortloop.panel.formats.simulated import SimulatedInput
from shortloop.panel.formulas.column import Column
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.pipeline import read_panel
from shortloop.panel.settings import Panel

SIMULATED = 8  # groups of a simulated panel that are made
TRIED = 2000  # rows, at least, of the first groups that formulas are tried with; the run fits all


def open_panel(file: Path, tell: Tell) -> Opened:
    """Read the rows that a panel file names, and evaluate its formulas on the first of them."""
    file = Path(os.path.abspath(file))
    panel = read_panel(file)
    try:
        rows = _rows(panel, file)
    except InputError as error:
        return Opened("no formula was checked", (error,))
    tell(1, 1)
    count = int(rows.starts[-1])
    said = f"{count:,} rows in {len(rows.keys):,} groups" if count else "the rows were not read"
    if isinstance(panel.input, SimulatedInput):
        said = "its rows are simulated"
    return Opened(said, tuple(_problems(panel, rows, file)), rows.notes)


def _rows(panel: Panel, file: Path) -> Rows:
    """Read all rows; of formats that exax reads, only their columns."""
    asked = panel.input
    if isinstance(asked, SimulatedInput):
        few = {"groups": min(SIMULATED, asked.groups)}
        return from_frame(asked.model_copy(update=few).load(None, (), panel.seed), panel.groups.by)
    if isinstance(asked, FileInput):
        return from_frame(asked.load(asked.path(file), panel.groups.by, panel.seed), panel.groups.by)
    assert isinstance(asked, CsvimportInput)
    asked.path(file)
    numbers = {name: Column(np.empty(0)) for name in asked.numbers}
    texts = {name: Column(np.empty(0, np.int32), (), dtype="str") for name in asked.texts}
    columns = {name: each for name, each in (numbers | texts).items() if name not in panel.groups.by}
    return Rows(panel.groups.by, [], np.zeros(1, np.int64), columns)


def _problems(panel: Panel, rows: Rows, file: Path) -> Iterator[InputError]:
    """Yield an error for each formula that cannot be evaluated."""
    last = min(int(np.searchsorted(rows.starts, TRIED)), len(rows.starts) - 1)
    for name, model in panel.models.items():
        for outcome in model.outcomes or (None,):
            try:
                equation = Equation(model.formula, outcome, f"models.{name}.formula")
                equation.needed(rows.columns, model.roles().values())
                if last:
                    Fitter(model, equation, rows.of_groups(0, last))
            except InputError as error:
                error.file = str(file)
                yield error
