"""What a methods section says beside the tests: effect sizes, intervals, patterns, potentials."""

from __future__ import annotations

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.methods.words import window
from shortloop.eeg.report.sensors import responses
from shortloop.eeg.report.sentences import listed

__all__ = ["descriptions"]


def descriptions(content: ReportContent) -> str:
    """Everything that describes and does not test."""
    return " ".join([*_effects(content), *_alone(content), *_patterns(content), *_potentials(content)])


def _effects(content: ReportContent) -> list[str]:
    if content.kinds[0].curve.level != "group":
        return []
    return [
        "Effect sizes are Cohen's d of the scores that were tested, with 95 % confidence intervals from the "
        "noncentral t distribution (Cumming & Finch, 2001)."
    ]


def _alone(content: ReportContent) -> list[str]:
    first = content.kinds[0]
    if not first.alone:
        return []
    one = first.alone[0]
    within = "class and fold" if first.curve.score == "auc" else "class"
    said = (
        f"Intervals of each participant's scores ({100 * one.level:g} %) are percentile bootstrap intervals "
        f"(Efron, 1979) over {one.draws:,} samples of the trials of each {within}."
    )
    if first.curve.level == "group":
        said += (
            " Each participant was also tested alone, by the z of its scores in its own permutations, "
            "corrected for all bins in the same way."
        )
    return [said]


def _patterns(content: ReportContent) -> list[str]:
    known = [kind.patterns for kind in content.kinds if kind.patterns is not None]
    if not any(each.patterns is not None for each in known):
        return []
    return [
        "Activation patterns (Haufe et al., 2014) are the covariance, over the training trials of a fold, of "
        "features and decision values of unit variance, averaged over folds and over the features of a "
        "channel."
    ]


def _potentials(content: ReportContent) -> list[str]:
    if not content.evoked:
        return []
    baseline = content.evoked[0].baseline
    after = "" if baseline is None else f", after subtraction of the mean of {window(*baseline)}"
    what = listed(sorted({responses(each.unit) for each in content.evoked})).capitalize()
    return [f"{what} are means over the trials of a class{after}."]
