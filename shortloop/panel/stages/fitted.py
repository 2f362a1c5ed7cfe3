"""Groups of a panel with what was found of them, from the jobs that have their rows and their fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortloop.panel import status
from shortloop.panel.design import Equation
from shortloop.panel.diagnostics.rows import Rows, rows_of
from shortloop.panel.fit import Fitter
from shortloop.panel.stages.panel_files import load_columns
from shortloop.seeds import seed_for
from shortloop.worker.stage import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shortloop.panel.data import Column
    from shortloop.panel.models.base import ModelSettings
    from shortloop.types import IntArray

__all__ = ["FittedGroups"]

PURPOSE = "quantile residuals"


class FittedGroups:
    """What was found of the groups of one specification and outcome.

    Parameters
    ----------
    results : Job
        Of the results stage.
    model : ModelSettings
        What was fitted.
    specification : str
        Its name.
    outcome : str or None
        As of `Equation`.
    seed : int
        Of what is drawn where outcomes are counted.
    """

    def __init__(
        self, results: Job, model: ModelSettings, specification: str, outcome: str | None, seed: int
    ) -> None:
        self._model = model
        self._names = list(results.facts["names"])
        self._place = {tuple(key): g for g, key in enumerate(results.facts["keys"])}
        self._arrays = {
            name: np.asarray(results.arrays[name]) for name in ("params", "scale", "status", "path")
        }
        self._equation = Equation(model.formula, outcome, f"models.{specification}.formula")
        self._seed = seed
        self._blocks: dict[str, tuple[dict[str, Column], IntArray]] = {}

    def status(self, key: Sequence[str]) -> int:
        """What became of the fit of a group.

        Parameters
        ----------
        key : sequence of str
            What makes it.

        Returns
        -------
        int
            Of `shortloop.panel.status`.
        """
        return int(self._arrays["status"][self._place[tuple(key)]])

    def fitter(self, block: Job, group: int | None = None) -> Fitter:
        """What has the rows of the groups of a block, as they were fitted.

        Parameters
        ----------
        block : Job
            Of the block stage.
        group : int, optional
            The one group to take, whose number is 0 then. Default: all.

        Returns
        -------
        Fitter
        """
        if block.job not in self._blocks:  # a file is opened for each column
            self._blocks[block.job] = load_columns(block), np.asarray(block.arrays["starts"])
        columns, starts = self._blocks[block.job]
        if group is not None:
            rows = slice(int(starts[group]), int(starts[group + 1]))
            columns = {name: column.taken(rows) for name, column in columns.items()}
            starts = np.array([0, rows.stop - rows.start])
        return Fitter(self._model, self._equation, columns, starts)

    def rows(self, fitter: Fitter, group: int, key: Sequence[str]) -> Rows | None:
        """What each row of a group says of its fit.

        Parameters
        ----------
        fitter : Fitter
            As of `fitter`.
        group : int
            Its number there.
        key : sequence of str
            What makes it.

        Returns
        -------
        Rows or None
            None if it was not fitted, or the model does not predict a value for each row.
        """
        place = self._place[tuple(key)]
        if self._arrays["status"][place] != status.FITTED:
            return None
        design = fitter.design_of(group, batched=self._arrays["path"][place] == 0)
        params = self._arrays["params"][place, [self._names.index(name) for name in design.names]]
        scale = float(self._arrays["scale"][place])
        return rows_of(self._model, design, params, scale, seed_for(self._seed, PURPOSE, *map(ascii, key)))
