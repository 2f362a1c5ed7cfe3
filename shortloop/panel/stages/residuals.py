"""Residuals of fitted groups, and a few numbers of them by which the worst groups are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.stages.stage import Finished, Job, Out, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from shortloop.panel.diagnostics.residuals import Rows
    from shortloop.panel.equation import Equation
    from shortloop.panel.fit import Fitter
    from shortloop.panel.models.base import ModelSettings


LEAST, UNITS = 5_000, 16
"""Rows of a unit, at least; and how many units there are to be, within that."""


class Residuals(Stage):
    """Residuals: a few numbers of those of every group of a block."""

    siblings = ("specification", "outcome")
    specification: str
    outcome: str | None
    model: ModelSettings
    seed: int  # of what is drawn where outcomes are counted
    block: Job
    fit: Job  # of the block

    def open(self) -> None:
        import numpy as np

        from shortloop.panel.data import split_groups

        self._starts = np.asarray(self.block.arrays["starts"])
        self._keys: list[list[str]] = self.block.facts["keys"]
        self._parts: list[slice] = []
        if len(self._starts) > 1:
            self._fitted = FittedGroups(self.block, self.fit, self.model, equation_of(self), self.seed)
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

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        import numpy as np

        from shortloop.panel.diagnostics.residuals import SUMMARY, summary_of

        part = self._parts[unit]
        found = {name: np.full(part.stop - part.start, np.nan) for name in SUMMARY}
        for place, group in enumerate(range(part.start, part.stop)):
            rows = self._fitted.rows(group, self._fitter)
            if rows is not None:
                for name, value in summary_of(rows).items():
                    found[name][place] = value
        return found

    def unit_name(self, unit: int) -> str:
        return f"residuals of groups from {' '.join(self._keys[self._parts[unit].start])} on"

    def finish(self, out: Outputs) -> Finished:
        along = {"groups": "keys"} if self._parts else {}
        return Finished({"keys": self._keys}, coordinates=along)


def equation_of(stage: Any) -> Equation:
    """Parse the formula of a stage's model and outcome."""
    from shortloop.panel.equation import Equation

    return Equation(stage.model.formula, stage.outcome, f"models.{stage.specification}.formula")


class FittedGroups:
    """The groups of a block, with their rows and fits; `seed` is of randomized residuals."""

    def __init__(self, block: Job, fit: Job, model: ModelSettings, equation: Equation, seed: int) -> None:
        import numpy as np

        from shortloop.panel.stages.panel_files import load_columns, load_keys

        self.keys = load_keys(block)
        self._model = model
        self._equation = equation
        self._seed = seed
        self._names = list(fit.facts["names"])
        self._arrays = {name: np.asarray(fit.arrays[name]) for name in ("params", "scale", "status")}
        self._columns = load_columns(block)
        self._starts = np.asarray(block.arrays["starts"])

    def status(self, group: int) -> int:
        return int(self._arrays["status"][group])

    def reads(self, group: int) -> list[object]:
        """List everything that the numbers of its rows depend on, beside the model and the seed."""
        import numpy as np

        rows = self._slice(group)
        needed = self._equation.needed(self._columns, self._model.roles().values())
        columns = {name: needed[name].taken(rows).trimmed() for name in sorted(needed)}
        params = dict(zip(self._names, map(float, self._arrays["params"][group]), strict=True))
        return [
            self.keys[group],
            {name: value for name, value in params.items() if value == value},  # others have more of them
            [self._arrays[name][group] for name in ("scale", "status")],
            {name: (np.asarray(each.values), each.levels, each.dtype) for name, each in columns.items()},
        ]

    def fitter(self) -> Fitter:
        """Make a fitter of all groups, whose designs many calls of `rows` can share."""
        from shortloop.panel.fit import Fitter

        return Fitter(self._model, self._equation, self._columns, self._starts)

    def rows(self, group: int, fitter: Fitter | None = None) -> Rows | None:
        """Compute the residuals of a group; None if it was not fitted, or the model has none."""
        import numpy as np

        from shortloop.base.seeds import seed_for
        from shortloop.panel.diagnostics.residuals import rows_of
        from shortloop.panel.fit import Fitter
        from shortloop.panel.statistics import Status

        if self.status(group) != Status.FITTED:
            return None
        if fitter is None:
            some = self._slice(group)
            columns = {name: column.taken(some).trimmed() for name, column in self._columns.items()}
            starts = np.array([0, some.stop - some.start])
            design = Fitter(self._model, self._equation, columns, starts).design_of(0)
        else:
            design = fitter.design_of(group)
        params = self._arrays["params"][group, [self._names.index(name) for name in design.names]]
        seed = seed_for(self._seed, "quantile residuals", *map(ascii, self.keys[group]))
        return rows_of(self._model, design, params, float(self._arrays["scale"][group]), seed)

    def _slice(self, group: int) -> slice:
        return slice(int(self._starts[group]), int(self._starts[group + 1]))
