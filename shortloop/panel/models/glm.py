"""Generalized linear models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, model_validator

from shortloop.panel.models.model import WithMargins

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
COLUMNS = ("offset", "exposure", "freq_weights", "var_weights")  # roles, as arguments of statsmodels' GLM
NAMES = {"cloglog": "CLogLog", "inverse_power": "InversePower"}
"""Links whose class in statsmodels is not the capitalized name."""


class Glm(WithMargins):
    """A generalized linear model by iteratively reweighted least squares."""

    model: Literal["glm"] = Field(description="generalized linear model")
    family: Literal["binomial", "poisson", "gamma", "gaussian"] = Field(
        description="distribution of the outcome; no default"
    )
    link: Literal["logit", "probit", "cloglog", "log", "identity", "inverse_power", "sqrt"] | None = Field(
        None, description="link between the mean and the sum of regressors; default: the family's own"
    )

    offset: str | None = Field(
        None,
        description="column that is added to the sum of regressors, with a coefficient of 1; default: none",
    )
    exposure: str | None = Field(
        None, description="column whose logarithm is added, of links log; default: none"
    )
    freq_weights: str | None = Field(
        None, description="column that says how many alike observations a row stands for; default: 1 each"
    )
    var_weights: str | None = Field(
        None,
        description="column of weights, proportional to one over the dispersion of each row, e.g. the number "
        "of observations of which it is the mean; default: 1 each",
    )

    def roles(self) -> dict[str, str]:
        columns = {name: getattr(self, name) for name in COLUMNS}
        return {**super().roles(), **{name: column for name, column in columns.items() if column}}

    @model_validator(mode="after")
    def _can_have_columns(self) -> Self:
        if self.exposure and (self.link or COMPILED[self.family][0]) != "log":
            raise ValueError("exposure: only for the link log; name `offset`, or `link`")
        if (self.freq_weights or self.var_weights) and self.covariance in ("cluster", "HAC"):
            raise ValueError("freq_weights, var_weights: not with covariance 'cluster' or 'HAC'")
        return self

    def takes_counts(self) -> bool:
        return self.family == "binomial"

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics | None:
        import numpy as np

        from shortloop.panel.kernels.batch import Batch
        from shortloop.panel.kernels.families import FAMILIES, LINKS
        from shortloop.panel.kernels.irls import NUMBERS, fit_groups

        link = self.link or COMPILED[self.family][0]
        if link not in COMPILED[self.family] or self.freq_weights or self.var_weights:
            return None
        if (offset := self.offset_of(design.roles)) is not None:
            design = replace(design, roles={**design.roles, "offset": offset})
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
        _check_columns(roles)
        columns = {name: roles[name] for name in COLUMNS if name in roles}
        return GLM(outcome, rows, family=self.family_of_statsmodels(), **columns).fit(**self.how(roles))

    def offset_of(self, roles: Mapping[str, Any]) -> FloatArray | None:
        import numpy as np

        with np.errstate(all="ignore"):
            parts = [roles["offset"]] if self.offset else []
            parts += [np.log(roles["exposure"])] if self.exposure else []
        return np.asarray(sum(parts)) if parts else None

    def link_of_statsmodels(self) -> Any:
        return self.family_of_statsmodels().link

    def family_of_statsmodels(self) -> Any:
        from statsmodels.genmod import families

        link = None
        if self.link is not None:
            link = getattr(families.links, NAMES.get(self.link, self.link.capitalize()))()
        return getattr(families, self.family.capitalize())(link)


def _check_columns(roles: Mapping[str, Any]) -> None:
    """Refuse numbers that columns beside the formula cannot have; statsmodels takes all."""
    import numpy as np

    for name in COLUMNS:
        values = roles.get(name)
        if values is not None and not np.isfinite(values).all():
            raise ValueError(f"{name}: a value is not finite")
        if name != "offset" and values is not None and (values <= 0.0).any():
            raise ValueError(f"{name}: a value is 0 or below")


def _impossible(family: str, outcome: FloatArray) -> str:
    """Describe outcomes that a family cannot have, as R's ``glm``; statsmodels fits all."""
    if family == "binomial" and ((outcome < 0.0) | (outcome > 1.0)).any():
        return "below 0 or above 1"
    if family == "poisson" and (outcome < 0.0).any():
        return "below 0"
    return "0 or below" if family == "gamma" and (outcome <= 0.0).any() else ""
