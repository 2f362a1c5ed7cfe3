"""Settings of decoding: folds, selection, scaling, the score."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from shortloop.eeg.score_names import Score
from shortloop.settings.base import Settings


class DecodingSettings(Settings):
    """Cross-validation, feature selection, scaling and the score, the same for every estimator."""

    folds: int = Field(10, ge=2, le=255, description="stratified shuffled folds; default 10")
    fold_by: Literal["trial", "run"] = Field(
        "trial",
        description="what a fold holds out: trials drawn at random ('trial', the default), or whole runs, "
        "the files of a phase, so that nothing is trained on the run that is predicted ('run'); there are "
        "then as many folds as runs, those of the class with the fewest, and at most decoding.folds",
    )
    select_alpha: float = Field(
        0.05, gt=0, le=1, description="features with ANOVA p below this are kept; default 0.05; 1: all"
    )
    scaling: Literal["separate", "training"] = Field(
        "training",
        description="predicted trials are z-scored by mean and deviation of the training trials ('training', "
        "the default, as scikit-learn's pipelines do) or by their own ('separate', as in the published "
        "analysis)",
    )
    score: Score = Field(
        "balanced-accuracy",
        description="what says how well a bin is decoded: mean over classes of the share of their trials "
        "called right ('balanced-accuracy', the default), share of all trials ('accuracy'), or area under "
        "the ROC curve, of more than two classes each against the rest, averaged over classes and folds "
        "('auc')",
    )
    class_weight: Literal["balanced"] | None = Field(
        None,
        description="'balanced': in training, trials of a class count more the fewer there are, as "
        "scikit-learn's class_weight='balanced'; not of every estimator; default: all alike",
    )
    subsample: bool = Field(
        False,
        description="whether each class is cut to the size of the smallest, in every phase, by trials that "
        "are drawn with the study's seed; default false",
    )

    @property
    def sees_labels(self) -> bool:
        """True if steps before training see labels, so that label vectors cannot be trained together."""
        return self.select_alpha < 1 or self.class_weight is not None

    def of_training(self) -> dict[str, Any]:
        """Settings that affect training, as plain data without the options that are off."""
        off = {"class_weight"} if self.class_weight is None else set()
        off |= {"fold_by"} if self.fold_by == "trial" else set()
        return self.model_dump(mode="json", exclude={"score", "subsample"} | off)
