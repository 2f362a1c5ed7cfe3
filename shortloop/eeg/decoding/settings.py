"""How decoding is done: folds, selection, scaling, the score, the estimator."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from shortloop.eeg.score import Score
from shortloop.settings.base import Settings

__all__ = [
    "DecodingSettings",
    "EstimatorSettings",
    "LdaSettings",
    "LinearSvmSettings",
    "MatlabSvmSettings",
    "RidgeSettings",
    "SklearnSettings",
]


class DecodingSettings(Settings):
    """Cross-validation, feature selection, scaling and the score, the same for every estimator."""

    folds: int = Field(10, ge=2, le=255, description="stratified shuffled folds; default 10")
    select_alpha: float = Field(
        0.05, gt=0, le=1, description="features with ANOVA p below this are kept; default 0.05; 1: all"
    )
    scaling: Literal["separate", "training"] = Field(
        "separate",
        description="predicted trials are z-scored by their own mean and deviation ('separate', as in the "
        "published analysis, the default) or by those of the training trials ('training')",
    )
    score: Score = Field(
        "balanced-accuracy",
        description="what says how well a bin is decoded: mean over classes of the share of their trials "
        "called right ('balanced-accuracy', the default), share of all trials ('accuracy'), or area under "
        "the ROC curve, of more than two classes each against the rest, averaged over classes and folds "
        "('auc')",
    )


class LinearSvmSettings(Settings):
    """The default estimator: one-versus-rest linear SVM in liblinear's form, C by inner folds."""

    kind: Literal["linear-svm"] = Field("linear-svm", description="the default estimator")
    C: tuple[Annotated[float, Field(gt=0)], ...] = Field(
        (1e-4, 1e-3, 1e-2),
        min_length=1,
        description="grid of C, the first best wins; default 1e-4, 1e-3, 1e-2",
    )
    inner_folds: int = Field(5, ge=2, description="stratified unshuffled folds that choose C; default 5")
    tol: float = Field(1e-4, gt=0, description="stopping tolerance of the solver; default 1e-4")


class MatlabSvmSettings(Settings):
    """The published MATLAB analysis: one-versus-all linear SVM, unpenalised intercept, no grid."""

    kind: Literal["matlab-svm"] = Field("matlab-svm", description="the MATLAB-like estimator")
    C: float = Field(1.0, gt=0, description="box constraint; default 1")
    kernel_scale: float | Literal["auto"] = Field(
        "auto", description="divides the features; default 'auto': median distance between the classes"
    )
    tol: float = Field(1e-3, gt=0, description="stopping tolerance of the solver; default 1e-3")


class LdaSettings(Settings):
    """Linear discriminant analysis with fixed shrinkage, as scikit-learn's least-squares solver has it."""

    kind: Literal["lda"] = Field("lda", description="linear discriminant analysis")
    shrinkage: float = Field(
        0.1,
        gt=0,
        le=1,
        description="share of the covariance within classes that is replaced by its mean variance, alike for "
        "all features; default 0.1; above 0, as the covariance may be singular",
    )


class RidgeSettings(Settings):
    """Ridge regression on class labels, as scikit-learn's RidgeClassifier has it."""

    kind: Literal["ridge"] = Field("ridge", description="ridge regression on class labels")
    alpha: float = Field(1.0, gt=0, description="penalty of squared weights; default 1")


class SklearnSettings(Settings):
    """Any scikit-learn classifier, by import path."""

    kind: Literal["sklearn"] = Field("sklearn", description="a scikit-learn estimator")
    path: str = Field(
        pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$",
        description="import path, e.g. 'sklearn.linear_model.LogisticRegression'; no default",
    )
    params: dict[str, bool | int | float | str | None] = Field(
        default_factory=dict, description="its parameters; default: its own defaults"
    )


EstimatorSettings = Annotated[
    LinearSvmSettings | MatlabSvmSettings | LdaSettings | RidgeSettings | SklearnSettings,
    Field(discriminator="kind"),
]
