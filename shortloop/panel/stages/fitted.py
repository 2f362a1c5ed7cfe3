"""Groups of a block with what was found of them, from the jobs that have their rows and their fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortloop.base.seeds import seed_for
from shortloop.panel import status
from shortloop.panel.diagnostics.rows import Rows, rows_of
from shortloop.panel.fit import Fitter
from shortloop.panel.stages.panel_files import load_columns, load_keys
from shortloop.stages.stage import Job

if TYPE_CHECKING:
    from shortloop.panel.equation import Equation
    from shortloop.panel.models.base import ModelSettings

__all__ = ["FittedGroups"]

PURPOSE = "quantile residuals"
NUMBERS = ("params", "scale", "status")


class FittedGroups:
    """What was found of the groups of a block.

    block: of the block stage. It has a group.
    fit: of the fit stage, of this block.
    model: what was fitted.
    equation: its formula, with the outcome.
    seed: of what is drawn where outcomes are counted.
    """

    def __init__(self, block: Job, fit: Job, model: ModelSettings, equation: Equation, seed: int) -> None:
        self.keys = load_keys(block)
        """What makes each group."""
        self._model = model
        self._equation = equation
        self._seed = seed
        self._names = list(fit.facts["names"])
        self._arrays = {name: np.asarray(fit.arrays[name]) for name in NUMBERS}
        self._columns = load_columns(block)
        self._starts = np.asarray(block.arrays["starts"])

    def status(self, group: int) -> int:
        """What became of the fit of a group."""
        return int(self._arrays["status"][group])

    def reads(self, group: int) -> list[object]:
        """All that the numbers of its rows hang on, beside the model and the seed."""
        rows = self._slice(group)
        needed = self._equation.needed(self._columns, self._model.roles().values())
        columns = {name: needed[name].taken(rows).trimmed() for name in sorted(needed)}
        params = dict(zip(self._names, map(float, self._arrays["params"][group]), strict=True))
        return [
            self.keys[group],
            {name: value for name, value in params.items() if value == value},  # others have more of them
            [self._arrays[name][group] for name in ("scale", "status")],
            {
                name: (np.asarray(column.values), column.levels, column.dtype)
                for name, column in columns.items()
            },
        ]

    def fitter(self, group: int | None = None) -> Fitter:
        """What has the rows of groups, as they were fitted."""
        columns, starts = self._columns, self._starts
        if group is not None:
            rows = self._slice(group)
            columns = {name: column.taken(rows).trimmed() for name, column in columns.items()}
            starts = np.array([0, rows.stop - rows.start])
        return Fitter(self._model, self._equation, columns, starts)

    def rows(self, group: int, fitter: Fitter | None = None) -> Rows | None:
        """What each row of a group says of its fit."""
        if self.status(group) != status.FITTED:
            return None
        design = self.fitter(group).design_of(0) if fitter is None else fitter.design_of(group)
        params = self._arrays["params"][group, [self._names.index(name) for name in design.names]]
        seed = seed_for(self._seed, PURPOSE, *map(ascii, self.keys[group]))
        return rows_of(self._model, design, params, float(self._arrays["scale"][group]), seed)

    def _slice(self, group: int) -> slice:
        return slice(int(self._starts[group]), int(self._starts[group + 1]))
