"""Fits of one specification and outcome in every group of a block."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shortloop.stages.stage import Finished, Job, Out, Outputs, Stage

if TYPE_CHECKING:
    from shortloop.panel.models.model import ModelSettings

LEAST, MOST, UNITS = 1000, 25_000, 32  # rows of a unit, about; and how many units are wanted


class Fit(Stage):
    """Fit: one specification and outcome in every group of a block."""

    siblings = ("specification", "outcome")
    _seldom = ("statsmodels",)  # compiled code fits nearly all
    specification: str
    outcome: str | None  # None: that of the formula
    model: ModelSettings
    level: float  # of confidence intervals
    block: Job

    def open(self) -> None:
        from shortloop.panel.data import split_groups
        from shortloop.panel.fitting.fit import Fitter
        from shortloop.panel.fitting.windows import AT_ONCE
        from shortloop.panel.formulas.equation import Equation
        from shortloop.panel.stages.panel_files import load_panel

        equation = Equation(self.model.formula, self.outcome, f"models.{self.specification}.formula")
        panel = load_panel(self.block)
        self._keys, self._by, self._kinds = panel.keys, panel.by, panel.kinds
        self._parts: list[slice] = []
        if self._keys:
            self._fitter = Fitter(self.model, equation, panel, self.level)
            self.model.warm_up()
            self._keys, self._by, self._kinds = self._fitter.keys, self._fitter.by, self._fitter.kinds
            starts, most = self._fitter.starts, MOST if self.model.window is None else AT_ONCE
            self._parts = split_groups(starts, min(max(int(starts[-1]) // UNITS, LEAST), most))

    def units(self) -> list[float]:
        return [float(part.stop - part.start) for part in self._parts]

    def index(self, unit: int) -> slice:
        return self._parts[unit]

    def outputs(self) -> dict[str, Out]:
        from shortloop.panel import statistics as of

        if not self._parts:
            return {}
        groups, names = len(self._keys), len(self._fitter.names)
        shape, axes = (groups, names), "groups × coefficients"
        outs = {name: Out(shape, "f8", axes, said) for name, said in of.COEFFICIENTS.items()}
        for field, more in (("margins", of.MARGINS), ("bootstrap", of.BOOTSTRAP)):
            if getattr(self.model, field, None):
                outs |= {name: Out(shape, "f8", axes, said) for name, said in more.items()}
        if tests := len(self.model.tests):
            shape, axes = (groups, tests), "groups × tests"
            outs |= {name: Out(shape, "f8", axes, said) for name, said in of.TESTS.items()}
        outs |= {name: Out((groups,), "f8", "groups", said) for name, said in of.FITS.items()}
        if scores := len(self.model.scored()):
            shape, axes = (groups, scores), "groups × scores"
            outs |= {name: Out(shape, "f8", axes, said) for name, said in of.SCORES.items()}
        outs |= {of.ALPHA: Out((groups,), "f8", "groups", of.CHOSEN)} if self.model.chooses() else {}
        return outs | {name: Out((groups,), "i1", "groups", said) for name, said in of.CODES.items()}

    def compute(self, unit: int) -> Mapping[str, Any]:
        part = self._parts[unit]
        fits = self._fitter.fit(part.start, part.stop)
        found: dict[str, Any] = {name: fits.arrays[name] for name in self.outputs()}
        if fits.said:
            found[f"said/{part.start}.json"] = json.dumps(fits.said, sort_keys=True).encode()
        return found

    def unit_name(self, unit: int) -> str:
        keys = self._keys[self._parts[unit]]
        return f"groups {' '.join(keys[0])} to {' '.join(keys[-1])}"

    def finish(self, out: Outputs) -> Finished:
        from shortloop.panel.stages.panel_files import group_facts
        from shortloop.panel.statistics import PATHS, STATUSES

        names, terms = (self._fitter.names, self._fitter.terms) if self._parts else ((), ())
        facts: dict[str, object] = {"names": list(names), "terms": list(terms)}
        facts |= group_facts(self._by, self._keys, self._kinds)
        facts |= {"statuses": list(STATUSES), "paths": list(PATHS)}
        along = {"groups": "keys", "coefficients": "names"} if self._parts else {}
        for name, listed in (("tests", self.model.tests), ("scores", self.model.scored())):
            if listed and self._parts:
                facts[name], along[name] = list(listed), name
        return Finished(facts, coordinates=along)
