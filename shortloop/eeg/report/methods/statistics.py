"""What a methods section says of statistics: level of chance, null distribution, correction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortloop.eeg.group.result import MapStatistics
from shortloop.eeg.group.settings import RETRAINED
from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text
from shortloop.eeg.report.methods.words import counted

__all__ = ["statistics"]


def statistics(content: ReportContent) -> str:
    """How scores were tested."""
    first = content.kinds[0]
    asked, group = content.settings["permutations"], content.settings["group"]
    alone = first.curve.level == "participant"
    said = " ".join(
        [
            *_smoothed(group),
            _alone(first) if alone else _tested(first),
            _of_one(asked, first) if alone or group["null"] == "permutations" else _flipped(first),
            _corrected(first, group),
        ]
    )
    by_run = content.settings.get("decoding", {}).get("fold_by") == "run"
    return said.replace("within folds", "within runs") if by_run else said


def _smoothed(group: Mapping[str, Any]) -> list[str]:
    if not group["smooth"]:
        return []
    reach = f"cut off at {group['truncate']:g} σ"
    sigma = f"{group['smooth']:g} bin{'s' * (group['smooth'] != 1)}"
    return [f"Scores were smoothed over bins with a Gaussian (σ = {sigma}, {reach})."]


def _chance(first: KindResult) -> str:
    if first.curve.expected is None:
        return f"chance ({chance_text(first.curve)})"
    return (
        "chance, which was the mean of each participant's own scores under permuted labels, as classes "
        "differed in size (Combrisson & Jerbi, 2015)"
    )


def _tested(first: KindResult) -> str:
    return (
        f"In each bin the scores of the {counted(len(first.participants), 'participant')} were compared with "
        f"{_chance(first)} by a two-sided one-sample t test."
    )


def _alone(first: KindResult) -> str:
    return (
        f"In each bin the participant's deviation from {_chance(first)} was divided by the standard "
        "deviation of the scores under permuted labels (two-sided z)."
    )


def _of_one(asked: Mapping[str, Any], first: KindResult) -> str:
    null, plane = first.curve.null or asked["null"], first.generalization
    if null not in ("training-labels", "retrained"):
        return (
            f"The null distribution is of {_maps(first.curve)} permutations of the true labels of the "
            "classified trials, within folds where these were cross-validated, with the predictions "
            "unchanged."
        )
    alike = plane is None or (plane.null or asked["null"]) == null
    again = (
        f"The null distribution{'' if alike else ' of cross-validated scores'} is of {_maps(first.curve)} "
        "permutations of the training labels within folds, with all classifiers trained again."
    )
    if null == "retrained":
        again = _trained_again(asked, first)
    if plane is None or alike:
        return again
    return (
        f"{again} That of scores in the other phase is of {_maps(plane)} permutations of the true labels of "
        "the classified trials, with the predictions unchanged."
    )


def _trained_again(asked: Mapping[str, Any], first: KindResult) -> str:
    count = RETRAINED if asked["retrained"] is None else asked["retrained"]
    return (
        f"For cross-validated scores all was trained again {count:,} times for each participant, from the "
        "selection of features on, with labels permuted within folds; each of "
        f"{_maps(first.curve)} maps of the null distribution takes one of these, or the true one, of every "
        "participant (Stelzer et al., 2013; Hemerik & Goeman, 2018)."
    )


def _maps(of: MapStatistics) -> str:
    return f"{len(of.null_max):,}"


def _flipped(first: KindResult) -> str:
    patterns = len(first.curve.null_max)
    which = f"all {patterns:,} ways" if _every_pattern(first) else f"{patterns:,} random ways"
    return (
        f"The null distribution is of {which} to flip the signs of the participants' deviations from chance "
        "(Nichols & Holmes, 2002; Winkler et al., 2014)."
    )


def _corrected(first: KindResult, group: Mapping[str, Any]) -> str:
    flips = group["null"] == "sign-flips" and first.curve.level == "group"
    p = (
        f"p = (1 + b) / (1 + m) for b of m {'sign patterns' if flips else 'permutations'} with at least as "
        "large a statistic (Phipson & Smyth, 2010)"
    )
    if flips and _every_pattern(first):
        p = "p is the share of sign patterns with at least as large a statistic"
    return (
        "p values were corrected for all bins by the distribution of the maximum statistic (Nichols & "
        "Holmes, 2002) and by that of the maximum cluster mass (Maris & Oostenveld, 2007), of clusters of "
        f"neighbouring bins with two-sided p < {group['cluster_alpha']:g} that differ from chance the same "
        f"way; {p}. The family-wise error rate is {group['alpha']:g}."
    )


def _every_pattern(first: KindResult) -> bool:
    # Random patterns are fewer than all of them.
    return bool(len(first.curve.null_max) == 2 ** len(first.participants))
