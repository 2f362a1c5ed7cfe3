"""Fitted estimators of every group, for those who load them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shortloop.stages.stage import CollectingStage, Finished, Job, Outputs

if TYPE_CHECKING:
    from shortloop.panel.models.model import ModelSettings


class Models(CollectingStage):
    """Models: the estimator of each fitted group; unchanged ones are reused."""

    siblings = ("specification", "outcome")
    unit_fields = ("specification", "outcome", "model", "seed")
    specification: str
    outcome: str | None
    model: ModelSettings
    seed: int
    blocks: list[Job]
    fits: list[Job]  # of each block

    def open(self) -> None:
        from shortloop.panel.stages.fitted_groups import FittedGroups
        from shortloop.panel.statistics import Status

        self._groups = []
        for block, fit in zip(self.blocks, self.fits, strict=True):
            if block.facts["keys"]:
                some = FittedGroups(self, block, fit)
                fitter, groups = some.fitter(), range(len(block.facts["keys"]))
                self._groups += [(some, fitter, g) for g in groups if some.status(g) == Status.FITTED]
        self._keys = [some.key(g) for some, _, g in self._groups]

    def units(self) -> int:
        return len(self._groups)

    def unit_key(self, unit: int) -> bytes:
        from shortloop.stages.content import content_of

        fitted, _, group = self._groups[unit]
        return content_of(fitted.reads(group))

    def compute(self, unit: int) -> dict[str, Any]:
        import warnings

        fitted, fitter, group = self._groups[unit]
        model: Any = self.model.of_group(fitted.key(group))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has said it
            return {"models": model.fitted(fitter.design_of(group))}

    def unit_name(self, unit: int) -> str:
        return f"model of {' '.join(self._keys[unit])}"

    def finish(self, out: Outputs) -> Finished:
        from shortloop.panel.data import group_names
        from shortloop.stages.rows import stacked, unpack

        names = group_names(self._keys, self.blocks[0].facts["kinds"])
        _, _, objects = stacked(names, [unpack(row) for row in out.rows], "the stage Models")
        return Finished({"specification": self.specification, "units": names, **objects})
