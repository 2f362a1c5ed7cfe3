"""Residuals of fitted groups, and a few numbers of them by which the worst groups are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.stages.stage import Arrays, Finished, Job, Out, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.panel.models.model import ModelSettings

LEAST, UNITS = 5_000, 16  # rows of a unit, at least; and how many units there are to be, within that


class Residuals(Stage):
    """Residuals: a few numbers of those of every group of a block."""

    siblings = ("specification", "outcome")
    _seldom = ("statsmodels",)  # compiled code fits nearly all
    specification: str
    outcome: str | None
    model: ModelSettings
    seed: int  # of what is drawn where outcomes are counted
    block: Job
    fit: Job  # of the block

    def open(self) -> None:
        import numpy as np

        from shortloop.panel.data import split_groups
        from shortloop.panel.stages.fitted_groups import FittedGroups

        self._starts = np.asarray(self.block.arrays["starts"])
        self._keys: list[list[str]] = self.block.facts["keys"]
        self._parts: list[slice] = []
        if len(self._starts) > 1:
            self._fitted = FittedGroups(self, self.block, self.fit)
            self._fitter = self._fitted.fitter()
            self._parts = split_groups(self._starts, max(int(self._starts[-1]) // UNITS, LEAST))

    def units(self) -> list[float]:
        return [float(self._starts[part.stop] - self._starts[part.start]) for part in self._parts]

    def index(self, unit: int) -> slice:
        return self._parts[unit]

    def outputs(self) -> dict[str, Out]:
        from shortloop.panel.diagnostics.residuals import SUMMARY

        shape = (len(self._starts) - 1,)
        return {name: Out(shape, "f8", "groups", said) for name, said in SUMMARY.items()} if shape[0] else {}

    def compute(self, unit: int) -> Arrays:
        import numpy as np

        from shortloop.panel.diagnostics.residuals import SUMMARY, summary_of

        groups = range(self._parts[unit].start, self._parts[unit].stop)
        rows = (self._fitted.rows(group, self._fitter) for group in groups)
        found = [dict.fromkeys(SUMMARY, np.nan) if each is None else summary_of(each) for each in rows]
        return {name: np.array([each[name] for each in found]) for name in SUMMARY}

    def unit_name(self, unit: int) -> str:
        return f"residuals of groups from {' '.join(self._keys[self._parts[unit].start])} on"

    def finish(self, out: Outputs) -> Finished:
        return Finished({"keys": self._keys}, coordinates={"groups": "keys"} if self._parts else {})
