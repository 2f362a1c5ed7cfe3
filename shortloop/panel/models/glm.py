"""Generalized linear models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from shortloop.panel.models.model import WithCovariance

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.formulas.design import Design
    from shortloop.panel.statistics import Statistics

COMPILED = {
    "binomial": ("logit", "probit", "cloglog"),
    "poisson": ("log", "identity", "sqrt"),
    "gamma": ("inverse_power", "log", "identity"),
    "gaussian": ("identity", "log"),
}
"""Links that there is compiled code for, by the family; the first is its own. Others may wander off on their
way, and rounding then grows without a sign."""
NAMES = {"cloglog": "CLogLog", "inverse_power": "InversePower"}
"""Links whose class in statsmodels is not the capitalized name."""


class Glm(WithCovariance):
    """A generalized linear model by iteratively reweighted least squares."""

    model: Literal["glm"] = Field(description="generalized linear model")
    family: Literal["binomial", "poisson", "gamma", "gaussian"] = Field(
        description="distribution of the outcome; no default"
    )
    link: Literal["logit", "probit", "cloglog", "log", "identity", "inverse_power", "sqrt"] | None = Field(
        None, description="link between the mean and the sum of regressors; default: the family's own"
    )

    def takes_counts(self) -> bool:
        return self.family == "binomial"

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics | None:
        import numpy as np

        from shortloop.panel.kernels.batch import Batch
        from shortloop.panel.kernels.families import FAMILIES, LINKS
        from shortloop.panel.kernels.irls import NUMBERS, fit_groups

        link = self.link or COMPILED[self.family][0]
        if link not in COMPILED[self.family]:
            return None
        batch = Batch(design, starts, NUMBERS, self.lags_of(np.diff(starts)))
        which = FAMILIES.index(self.family), LINKS.index(link)
        return batch.statistics(level, **batch.run(fit_groups, *which, self.kind()))

    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        import numpy as np
        from statsmodels.genmod.generalized_linear_model import GLM

        if "successes" in roles:
            outcome = np.column_stack([roles["successes"], roles["failures"]])
            if (outcome < 0).any():  # of which statsmodels says nothing
                raise ValueError("successes or failures are negative")
        elif said := _impossible(self.family, outcome):  # the same
            raise ValueError(f"outcomes that the family {self.family} cannot have: {said}")
        return GLM(outcome, rows, family=self.family_of_statsmodels()).fit(**self.how(roles))

    def family_of_statsmodels(self) -> Any:
        from statsmodels.genmod import families

        link = None
        if self.link is not None:
            link = getattr(families.links, NAMES.get(self.link, self.link.capitalize()))()
        return getattr(families, self.family.capitalize())(link)


def _impossible(family: str, outcome: FloatArray) -> str:
    """Describe outcomes that a family cannot have, as R's ``glm``; statsmodels fits all."""
    if family == "binomial" and ((outcome < 0.0) | (outcome > 1.0)).any():
        return "below 0 or above 1"
    if family == "poisson" and (outcome < 0.0).any():
        return "below 0"
    return "0 or below" if family == "gamma" and (outcome <= 0.0).any() else ""
