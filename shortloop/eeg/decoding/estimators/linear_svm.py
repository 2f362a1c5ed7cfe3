"""One-versus-rest linear SVM in liblinear's form, C by inner folds: the default estimator."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from shortloop.base.text import listed
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings, one_versus_rest

if TYPE_CHECKING:
    from shortloop.base.types import FloatArray, IntArray
    from shortloop.eeg.decoding.models import BinModels, Fitted
    from shortloop.eeg.decoding.settings import DecodingSettings


@functools.cache
def warm_up() -> None:
    """Import and compile the training once, before processes are forked."""
    from shortloop.eeg.decoding.selection.scaling import examples
    from shortloop.eeg.decoding.settings import DecodingSettings

    decoding, few = DecodingSettings(folds=2, select_alpha=0.5), LinearSvmSettings(inner_folds=2)
    for x, labels, folds in examples():
        few.train_folds(x, labels, folds, 3, decoding)


class LinearSvmSettings(EstimatorSettings):
    """One-versus-rest linear SVM in liblinear's form, C by inner folds."""

    batched = "svm"
    weighs_classes = True
    kind: Literal["linear-svm"] = Field("linear-svm", description="the default estimator")
    C: tuple[Annotated[float, Field(gt=0)], ...] = Field(
        (1e-4, 1e-3, 1e-2),
        min_length=1,
        description="grid of C, the first best wins; default 1e-4, 1e-3, 1e-2",
    )
    inner_folds: int = Field(5, ge=2, description="stratified unshuffled folds that choose C; default 5")
    tol: float = Field(1e-4, gt=0, description="stopping tolerance of the solver; default 1e-4")

    def described(self, n_classes: int) -> str:
        chosen = f"C = {self.C[0]:g}"
        if len(self.C) > 1:
            chosen = (
                f"C chosen out of {listed([f'{each:g}' for each in self.C])} by the mean accuracy in "
                f"{self.inner_folds} stratified folds within the training trials"
            )
        return (
            f"a {one_versus_rest(n_classes)}linear support vector machine with hinge loss and L2 penalty, "
            f"intercept included (the formulation of LIBLINEAR; Fan et al., 2008), with {chosen} and a "
            f"stopping tolerance of {self.tol:g}"
        )

    @property
    def nested_folds(self) -> int | None:
        return self.inner_folds

    def warm_up(self) -> None:
        warm_up()

    def fit(self, x: FloatArray, labels: IntArray, *, balanced: bool = False) -> Fitted:
        from shortloop.eeg.decoding.models import Fitted
        from shortloop.eeg.decoding.solvers.svm import solve

        gram = x @ x.T
        gram += 1.0  # the intercept's feature
        found = solve(gram, labels, self.C, self.inner_folds, self.tol, balanced=balanced)
        return Fitted(found.dual @ x, found.dual.sum(axis=1), self.C[found.best])

    def train_folds(
        self, x: FloatArray, labels: IntArray, folds: IntArray, n_classes: int, decoding: DecodingSettings
    ) -> BinModels | None:
        from shortloop.eeg.decoding.solvers.svm import train_svm_folds

        return train_svm_folds(
            x, labels, folds, n_classes, decoding, grid=self.C, inner_folds=self.inner_folds, tol=self.tol
        )
