"""Predictions of the rows of a block, and of all blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.stages.stage import Finished, Job, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.panel.models.model import ModelSettings


class Predict(Stage):
    """Predict: fitted values, residuals and intervals of the rows of a block."""

    siblings = ("specification", "outcome")
    specification: str
    outcome: str | None
    model: ModelSettings
    interval: float | None  # level; None: no intervals
    block: Job
    fit: Job  # of the block
    new: Job | None  # new rows of its groups; None: the rows of the fit

    def finish(self, out: Outputs) -> Finished:
        import numpy as np

        from shortloop.panel.formulas.equation import Equation
        from shortloop.panel.predictions import Predictor
        from shortloop.panel.stages.panel_files import load_panel

        equation = Equation(self.model.formula, self.outcome, f"models.{self.specification}.formula")
        panel, new = load_panel(self.block), None if self.new is None else load_panel(self.new)
        status, params = (np.asarray(self.fit.arrays.get(name, ())) for name in ("status", "params"))
        made = Predictor(self.model, equation, panel, self.fit.facts["names"], status, params)
        return Finished(tables={"predictions": made.predict(new, self.interval)})


class Predictions(Stage):
    """Predictions: of all blocks, a row for each of the file."""

    siblings = ("specification", "outcome")
    specification: str
    outcome: str | None
    csv: bool
    parts: list[Job]  # of each block
    panel: Job  # the rows that are predicted, by block

    def finish(self, out: Outputs) -> Finished:
        import pandas as pd

        from shortloop.panel.predictions import of_source
        from shortloop.panel.stages.panel_files import load_panel

        parts: list[Any] = [part.tables["predictions"] for part in self.parts]
        parts = [part for part in parts if len(part)]
        table = of_source(pd.concat(parts, ignore_index=True), load_panel(self.panel))
        table.insert(0, "row", range(1, len(table) + 1))
        files = {"predictions.csv": table.to_csv(index=False).encode()} if self.csv else {}
        return Finished({"specification": self.specification}, files=files, tables={"predictions": table})
