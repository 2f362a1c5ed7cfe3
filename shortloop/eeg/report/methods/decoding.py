"""What a methods section says of decoding: folds, selection, scaling, classifier, generalization, score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortloop.eeg.report.content import WORDS, KindResult, ReportContent
from shortloop.eeg.report.sentences import folds_without, listed

__all__ = ["decoding"]

Asked = Mapping[str, Any]


def decoding(content: ReportContent) -> str:
    """How classifiers were trained, applied and scored."""
    asked, classes = content.settings["decoding"], list(content.settings["classes"])
    first = content.kinds[0]
    kinds = listed([kind.kind for kind in content.kinds])
    apart = ", separately for each kind of features" if len(content.kinds) > 1 else ""
    said = [
        f"Within each participant and time bin, trials of {first.train_phase} were classified as "
        f"{_or(classes)} from the {kinds} features of that bin{apart}, by {_folded(asked)} with the same "
        "folds for all bins.",
        _selected(asked),
        _classifier(content.settings, asked.get("class_weight") is not None),
    ]
    if asked.get("subsample"):
        said.insert(
            0,
            "In each participant and phase, trials were drawn at random so that each class had as many as "
            "the smallest.",
        )
    said += [_generalized(content, asked)] if any(_plane(kind) for kind in content.kinds) else []
    said.append(_score(first.curve.score, len(classes)))
    if lost := sum(kind.left_out for kind in content.kinds):
        said.append(
            f"In {folds_without(content.kinds, content.settings)} no feature was selected; "
            f"{'its' if lost == 1 else 'their'} held-out trials counted as guessed."
        )
    return " ".join(said)


def _folded(asked: Asked) -> str:
    if asked.get("fold_by") == "run":
        return f"cross-validation in at most {asked['folds']} folds that each held out whole runs,"
    return f"stratified, shuffled {asked['folds']}-fold cross-validation"


def _plane(kind: KindResult) -> bool:
    return kind.generalization is not None


def _or(items: list[str]) -> str:
    return listed(items).replace(" and ", " or ") if len(items) < 6 else f"one of {len(items)} classes"


def _selected(asked: Asked) -> str:
    alpha = asked["select_alpha"]
    by = "by their own mean and standard deviation"
    if asked["scaling"] == "training":
        by = "by the mean and standard deviation of the training trials"
    kept = "all features were used"
    if alpha < 1:
        kept = (
            f"features with p < {alpha:g} in a one-way analysis of variance over the classes, computed on "
            "the training trials alone, were kept"
        )
    return (
        f"In each fold, {kept}; features of training trials were z-scored, and those of held-out trials were "
        f"z-scored {by}."
    )


def _classifier(settings: Asked, weighted: bool) -> str:
    weights = ""
    if weighted:
        weights = " Trials were weighted inversely to the number of training trials of their class."
    said = settings.get(WORDS, {}).get("classifier")  # a build script need not have asked for it
    return f"The classifier was {said or settings['estimator']['kind']}.{weights}"


def _generalized(content: ReportContent, asked: Asked) -> str:
    kinds = [kind for kind in content.kinds if _plane(kind)]
    of = "" if len(kinds) == len(content.kinds) else f" of {listed([kind.kind for kind in kinds])} features"
    first = kinds[0]
    if first.train_phase == first.test_phase:
        return (
            f"For temporal generalization (King & Dehaene, 2014), the classifiers{of} of each bin were also "
            "applied to all other bins of the trials that their fold had held out."
        )
    scaled = " z-scored over its trials," if asked["scaling"] == "separate" else ""
    each = "classifiers" if asked.get("fold_by") == "run" else f"{asked['folds']} classifiers"
    return (
        f"For temporal generalization (King & Dehaene, 2014), the classifiers{of} of each bin and fold were "
        f"applied to each bin of {first.test_phase},{scaled} and scores were averaged over the "
        f"{each} of a bin."
    )


def _score(score: str, classes: int) -> str:
    if score == "auc":
        many = ", of each class against the rest and averaged over classes (Hand & Till, 2001)"
        return (
            "Scores are areas under the receiver operating characteristic curve"
            f"{many if classes > 2 else ''}; in cross-validation they were computed within folds and "
            "averaged (Forman & Scholz, 2010)."
        )
    if score == "accuracy":
        return "Scores are the percentage of trials that were classified correctly."
    return "Scores are balanced accuracies, the mean over classes of recall (Brodersen et al., 2010)."
