"""Base of models: settings, a fit of one group by statsmodels, and fits of many by compiled code.

A model is a module beside this one with one record in it. The record is read with every panel file, so
nothing of size may be imported but within its functions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from shortloop.settings.base import Tagged

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.panel.formulas.design import Design
    from shortloop.panel.statistics import Statistics

WITH_INTERVALS = ("ols", "wls", "logit", "glm")  # models whose predictions have intervals
OF_MEANS = ("offset", "exposure")  # columns beside a formula that means depend on
OF_PREDICTIONS = {*OF_MEANS, "weights", "freq_weights", "var_weights", "clusters", "clusters 2", "time"}
"""Columns beside a formula with which there are predictions."""
Covariance = Literal["nonrobust", "HC0", "HC1", "HC2", "HC3", "cluster", "HAC"]


class ModelSettings(Tagged):
    """A specification: a formula, and the model that is fitted with it."""

    tag = "model"
    formula: str = Field(
        min_length=1,
        description="as of R and formulaic, e.g. 'y ~ x + C(kind)'; without its left side for `outcomes`; "
        "of counts, for glm with family binomial: 'successes + failures ~ x'; no default",
    )
    outcomes: tuple[str, ...] = Field(
        (), description="left sides, each fitted in a job of its own; default: the one of the formula"
    )
    missing: Literal["drop", "raise"] = Field(
        "drop",
        description="what becomes of rows without a value: they are left out, or the group is not fitted; "
        "default 'drop'",
    )

    tests: tuple[str, ...] = Field(
        (),
        description="hypotheses about coefficients, e.g. ['x1 = x2', 'x1 = x2 = 0'], each tested in every "
        "group; default: none",
    )

    window: Annotated[int, Field(ge=2)] | Literal["expanding"] | None = Field(
        None,
        description="one fit for each window of so many rows of a group, or of all rows up to each: "
        "'expanding'; default: one fit of all",
    )
    min_rows: int | None = Field(
        None, ge=2, description="rows of the first window; default: the window; no default for 'expanding'"
    )
    step: int = Field(1, ge=1, description="rows from the end of a window to that of the next; default 1")
    time: str | None = Field(
        None,
        description="for windows and covariance 'HAC': column by which the rows of a group are in order; "
        "default: the order of the file",
    )

    @model_validator(mode="after")
    def _has_windows(self) -> Self:
        if self.window is None and (self.min_rows is not None or self.step != 1):
            raise ValueError("min_rows, step: only with `window`")
        if self.window == "expanding" and self.min_rows is None:
            raise ValueError("min_rows: the rows of the first window are needed for window 'expanding'")
        if isinstance(self.window, int) and (self.min_rows or 0) > self.window:
            raise ValueError("min_rows: no more rows than `window`")
        if self.time and self.window is None and getattr(self, "covariance", "") != "HAC":
            raise ValueError("time: only for windows and covariance 'HAC'")
        return self

    def least_rows(self) -> int:
        """Return how many rows the first window has."""
        return self.min_rows or (self.window if isinstance(self.window, int) else 2)

    def roles(self) -> dict[str, str]:
        """Map purposes to columns that the model needs beside the formula's."""
        return {"time": self.time} if self.time else {}

    def takes_counts(self) -> bool:
        """True if the outcome may be two columns: successes and failures."""
        return False

    def scored(self) -> tuple[str, ...]:
        """List the scores that cross-validation gives of each group."""
        return ()

    def chooses(self) -> bool:
        """True if cross-validation chooses a penalty for each group."""
        return False

    def seeded(self, seed: int) -> Self:
        """Return the model with this seed, unless it has its own."""
        return self

    def of_group(self, key: tuple[str, ...]) -> Self:
        """Return the model as it is fitted to one group."""
        return self

    def check(self) -> None:
        """Raise InputError if what the settings name cannot be used."""

    def check_at(self, place: str) -> None:
        """Check, with the place of the model in front of fields, e.g. ``models.plain.``."""
        from shortloop.base.errors import InputError

        try:
            self.check()
        except InputError as error:
            field, found, expected = f"{place}{error.field}", error.found, error.expected
            raise InputError(
                error.problem, field=field, found=found, expected=expected, hint=error.hint
            ) from None

    def fit_alone(self, design: Design) -> tuple[dict[str, Any], int, list[str], Any] | None:
        """Fit one group without statsmodels; None if statsmodels fits it."""
        # Returns statistics by name, the status, messages, and the model if it is kept.
        return None

    def takes_effects(self) -> bool:
        """True if the formula may have absorbed effects, ``y ~ x | firm``."""
        return False

    def is_binary(self) -> bool:
        """True if the model is of a probability, and maximizes its likelihood."""
        return False

    def has_basis(self) -> bool:
        """True if the fit is the same in any basis of the regressors."""
        return True

    def fit_groups(self, design: Design, starts: IntArray, level: float) -> Statistics | None:
        """Fit all groups by compiled code, with the numbers of statsmodels; None if there is no such code."""
        # Fits that it cannot vouch for are left out, with a reason.
        # starts: int64, (groups + 1,). First row of each group, and the end of the last.
        return None

    def warm_up(self) -> None:
        """Load the compiled code, so that processes forked later share it; compile it, if it never was."""
        import numpy as np

        from shortloop.panel.formulas.design import Design

        columns, outcome = np.random.default_rng(0).standard_normal((2, 12)), np.tile([0.0, 1.0], 6)
        design = Design(("a", "b"), columns, outcome, {role: np.ones(12) for role in self.roles()})
        self.fit_groups(design, np.array([0, 12]), 0.95)

    def has_converged(self, results: Any) -> bool | None:
        """True if iterations of statsmodels converged; None if its own results say so."""
        return None

    @abstractmethod
    def fit_one(self, outcome: FloatArray, rows: FloatArray, roles: dict[str, Any]) -> Any:
        """Fit one group by statsmodels; `rows` are the regressors, (rows, coefficients)."""
        # `roles` has the values of each of `roles()`, and "successes" and "failures" of counted outcomes.


class WithCovariance(ModelSettings):
    """A model whose covariance may allow for heteroscedastic or clustered errors."""

    covariance: Covariance = Field(
        "nonrobust",
        description="covariance of the coefficients: nonrobust; HC0 to HC3: errors of different size; "
        "cluster: errors correlated within clusters; HAC: errors correlated over time (Newey and West); "
        "default 'nonrobust'",
    )
    clusters: str | tuple[str, ...] | None = Field(
        None,
        description="for covariance 'cluster': column whose values make a cluster, or two of them, e.g. "
        "['firm', 'year']; no default",
    )
    lags: int | None = Field(
        None,
        ge=0,
        description="for covariance 'HAC': rows back to which errors are correlated; default: of n rows the "
        "whole part of 4 (n / 100)^(2/9)",
    )
    kernel: Literal["bartlett", "uniform"] = Field(
        "bartlett",
        description="for covariance 'HAC': weights of the lags; bartlett: falling; uniform: all 1; default "
        "'bartlett'",
    )

    def roles(self) -> dict[str, str]:
        found = dict(zip(("clusters", "clusters 2"), self._ways(), strict=False))
        return {**super().roles(), **found}

    def _ways(self) -> tuple[str, ...]:
        return (self.clusters,) if isinstance(self.clusters, str) else self.clusters or ()

    @model_validator(mode="after")
    def _fits_the_covariance(self) -> Self:
        if (self.covariance == "cluster") != (self.clusters is not None):
            raise ValueError("clusters: the column is needed for covariance 'cluster', and only there")
        if isinstance(self.clusters, tuple) and len(self.clusters) not in (1, 2):
            raise ValueError("clusters: one column, or two")
        if self.covariance != "HAC" and (self.lags, self.kernel) != (None, "bartlett"):
            raise ValueError("lags, kernel: only for covariance 'HAC'")
        return self

    def kind(self) -> int:
        """Return the number by which compiled code knows the covariance."""
        from shortloop.panel.kernels.covariance import KINDS, UNIFORM

        return UNIFORM if self.kernel == "uniform" else KINDS[self.covariance]

    def lags_of(self, nobs: FloatArray) -> IntArray:
        """Return how far back errors are correlated, of groups of so many rows."""
        import numpy as np

        if self.lags is None:
            return np.asarray(4.0 * (nobs / 100.0) ** (2.0 / 9.0), np.int64)
        return np.full(len(nobs), self.lags, np.int64)

    def how(self, roles: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of ``fit`` of statsmodels."""
        import numpy as np

        known: dict[str, Any] | None = None
        if self.covariance == "cluster":
            groups = [roles[name] for name in ("clusters", "clusters 2") if name in roles]
            for name, codes in zip(self._ways(), groups, strict=True):
                if len(codes) and codes.min() == codes.max():
                    raise ValueError(f"all rows are in one cluster of {name}")
            known = {"groups": groups[0] if len(groups) == 1 else np.column_stack(groups)}
        elif self.covariance == "HAC":
            known = {"maxlags": self.lags, "kernel": self.kernel}
        return {"cov_type": self.covariance, **({"cov_kwds": known} if known else {})}


class WithMargins(WithCovariance):
    """A model of a mean that is a function of a sum of regressors."""

    margins: Literal["overall", "mean"] | None = Field(
        None,
        description="marginal effects: overall: the mean over rows; mean: at the means of regressors; "
        "default: none",
    )

    def offset_of(self, roles: Mapping[str, Any]) -> FloatArray | None:
        """Sum what is added to linear predictors, (rows,); None if there is nothing."""
        return None

    @abstractmethod
    def link_of_statsmodels(self) -> Any:
        """Return the link function."""
