"""Groups of a block with their rows and fits, from the files of jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shortloop.base.seeds import seed_for
from shortloop.base.types import IntArray
from shortloop.panel.diagnostics.residuals import Rows, rows_of
from shortloop.panel.fitting.fit import Fitter
from shortloop.panel.formulas.equation import Equation
from shortloop.panel.stages.panel_files import load_panel
from shortloop.panel.statistics import Status
from shortloop.stages.stage import Job


class FittedGroups:
    """The groups of a block, with their rows and fits; `stage` has the model, its outcome and the seed."""

    def __init__(self, stage: Any, block: Job, fit: Job) -> None:
        self._equation = Equation(stage.model.formula, stage.outcome, f"models.{stage.specification}.formula")
        self._model, self._seed = stage.model, stage.seed
        self._panel = load_panel(block)
        self._names = list(fit.facts["names"])
        self._arrays = {name: np.asarray(fit.arrays[name]) for name in ("params", "scale", "status")}

    def key(self, group: int) -> tuple[str, ...]:
        return self._panel.keys[group]

    def status(self, group: int) -> int:
        return int(self._arrays["status"][group])

    def reads(self, group: int) -> list[object]:
        """List everything that the numbers of its rows depend on, beside the model and the seed."""
        needed = self._equation.needed(self._panel.columns, self._model.roles().values())
        some = replace(self._panel, columns={name: needed[name] for name in sorted(needed)})
        columns = some.of_groups(group, group + 1).columns
        params = dict(zip(self._names, map(float, self._arrays["params"][group]), strict=True))
        return [
            self._panel.keys[group],
            {name: value for name, value in params.items() if value == value},  # others have more of them
            [self._arrays[name][group] for name in ("scale", "status")],
            {name: (np.asarray(each.values), each.levels, each.dtype) for name, each in columns.items()},
        ]

    def fitter(self) -> Fitter:
        """Make a fitter of all groups, whose designs many calls of `rows` can share."""
        return Fitter(self._model, self._equation, self._panel)

    def complete(self, group: int, rows: int) -> IntArray | None:
        """Find the complete rows of a group; None if there is doubt."""
        begin, end = (int(each) for each in self._panel.starts[group : group + 2])
        if end - begin == rows:
            return np.arange(rows)
        found = (
            Fitter(self._model, self._equation, self._panel.of_groups(group, group + 1)).evaluated_of(0).rows
        )
        return found if found is not None and len(found) == rows else None

    def rows(self, group: int, fitter: Fitter | None = None) -> Rows | None:
        """Compute the residuals of a group; None if it was not fitted, or the model has none."""
        if self.status(group) != Status.FITTED:
            return None
        if fitter is None:
            design = Fitter(self._model, self._equation, self._panel.of_groups(group, group + 1)).design_of(0)
        else:
            design = fitter.design_of(group)
        params = self._arrays["params"][group, [self._names.index(name) for name in design.names]]
        seed = seed_for(self._seed, "quantile residuals", *map(ascii, self._panel.keys[group]))
        return rows_of(
            self._model.of_group(self.key(group)), design, params, float(self._arrays["scale"][group]), seed
        )
