"""Base of penalized least squares, with a given or chosen penalty."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from shortloop.panel.models.sklearn import Scored

Alpha = Annotated[float, Field(gt=0)]
EXACT: dict[str, Any] = {"tol": 1e-12, "max_iter": 100_000}
"""Ends of coordinate descent: the duality gap over the squared length of the outcome; and iterations."""


class Penalized(Scored):
    """Least squares with a penalty on coefficients, but not on the intercept."""

    default_score = "r2"  # a search for the penalty would have its own
    alpha: Alpha | tuple[Alpha, ...] = Field(
        1.0,
        description="weight of the penalty, as scikit-learn's; of several, the one of least cross-validated "
        "squared error in the group; default 1",
    )
    standardize: bool = Field(
        False,
        description="whether regressors are divided by their standard deviation (over n) for the fit; "
        "coefficients are of the regressors as they are; default false",
    )

    @model_validator(mode="after")
    def _alpha_can_be_chosen(self) -> Self:
        if self.chooses() and not self.folds:
            raise ValueError("alpha: several need folds to choose from them; 0 makes none")
        if self.chooses() and self.fold_by is not None:
            raise ValueError("fold_by: not with several alpha; leave it out, or give one alpha")
        if self.alpha == ():
            raise ValueError("alpha: give at least one")
        return self

    def chooses(self) -> bool:
        return isinstance(self.alpha, tuple) and len(self.alpha) > 1

    @abstractmethod
    def penalized(self, alpha: float) -> Any:
        """Make the estimator of scikit-learn."""

    def unfitted(self) -> Any:
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import Pipeline
        from sklearn.preprocessing import StandardScaler

        alphas = self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)
        made, name = self.penalized(alphas[0]), "alpha"
        if self.standardize:
            scale = StandardScaler(with_mean=self._has_constant)
            made, name = Pipeline([("scale", scale), ("fit", made)]), "fit__alpha"
        if not self.chooses():
            return made
        how: dict[str, Any] = {"scoring": "neg_mean_squared_error", "error_score": "raise"}
        return GridSearchCV(made, {name: list(alphas)}, cv=self._splitter(made), **how)

    def coefficients(self, made: Any, names: tuple[str, ...], said: list[str]) -> dict[str, Any]:
        import copy

        best, scale = getattr(made, "best_estimator_", made), None
        if self.standardize:
            scale, best = best["scale"], copy.copy(best["fit"])
            best.coef_ = best.coef_ / scale.scale_
            if scale.with_mean:
                best.intercept_ = best.intercept_ - scale.mean_ @ best.coef_
        found = super().coefficients(best, names, said)
        return found | ({"alpha": float(best.alpha)} if self.chooses() else {})
