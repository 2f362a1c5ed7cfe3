"""What the residuals of every group look like, in a few numbers: by them the worst groups are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shortloop.worker.stage import Finished, Job, Out, Outputs, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from shortloop.panel.models.base import ModelSettings

__all__ = ["Residuals"]


class Residuals(Stage):
    """Residuals: a few numbers of those of every group."""

    siblings = ("specification", "outcome")
    specification: str
    outcome: str | None
    model: ModelSettings
    seed: int  # of what is drawn where outcomes are counted
    results: Job
    blocks: list[Job]

    def open(self) -> None:
        """Find out what there is."""
        from itertools import accumulate, pairwise

        from shortloop.panel.stages.fitted import FittedGroups

        self._fitted = FittedGroups(self.results, self.model, self.specification, self.outcome, self.seed)
        self._blocks = [block for block in self.blocks if block.facts["keys"]]
        ends = [0, *accumulate(len(block.facts["keys"]) for block in self._blocks)]
        self._parts = [slice(*pair) for pair in pairwise(ends)]

    def units(self) -> list[float]:
        """A block of groups each, which costs its rows."""
        return [float(block.arrays["starts"][-1]) for block in self._blocks]

    def index(self, unit: int) -> slice:
        """Its groups."""
        return self._parts[unit]

    def outputs(self) -> dict[str, Out]:
        """What is said of each group."""
        from shortloop.panel.diagnostics.worst import SUMMARY

        groups = sum(len(block.facts["keys"]) for block in self._blocks)
        return (
            {name: Out((groups,), "f8", "groups", said) for name, said in SUMMARY.items()} if groups else {}
        )

    def compute(self, unit: int) -> Mapping[str, np.ndarray]:
        """Look at the groups of a block that were fitted."""
        import numpy as np

        from shortloop.panel.diagnostics.worst import SUMMARY, summary_of
        from shortloop.panel.stages.panel_files import load_keys

        block = self._blocks[unit]
        keys = load_keys(block)
        found = {name: np.full(len(keys), np.nan) for name in SUMMARY}
        fitter = self._fitted.fitter(block)
        for g, key in enumerate(keys):
            rows = self._fitted.rows(fitter, g, key)
            if rows is not None:
                for name, value in summary_of(rows).items():
                    found[name][g] = value
        return found

    def unit_name(self, unit: int) -> str:
        """Its block."""
        return f"residuals of block {self._blocks[unit].partition}"

    def finish(self, out: Outputs) -> Finished:
        """Which group each is."""
        return Finished({"keys": [key for block in self._blocks for key in block.facts["keys"]]})
