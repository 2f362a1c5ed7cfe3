"""Methods section: cross-validation, classifier and score, and the tests of scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shortloop.base.text import listed
from shortloop.eeg.group.settings import RETRAINED
from shortloop.eeg.report.content import WORDS, KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text
from shortloop.eeg.report.sentences import counted, folds_without

Settings = Mapping[str, Any]
SCORES = {
    "balanced-accuracy": "balanced accuracies, the mean over classes of recall (Brodersen et al., 2010).",
    "accuracy": "the percentage of trials that were classified correctly.",
    "auc": "areas under the receiver operating characteristic curve{}; in cross-validation they were "
    "computed within folds and averaged (Forman & Scholz, 2010).",
}


def decoding(content: ReportContent) -> str:
    """Describe how classifiers were trained, applied and scored."""
    asked, classes = content.settings["decoding"], list(content.settings["classes"])
    first, by_run = content.kinds[0], content.settings["decoding"].get("fold_by") == "run"
    named = f"one of {len(classes)} classes"
    if len(classes) < 6:
        named = listed(classes).replace(" and ", " or ")
    folded = f"stratified, shuffled {asked['folds']}-fold cross-validation"
    if by_run:
        folded = f"cross-validation in at most {asked['folds']} folds that each held out whole runs,"
    kinds = listed([kind.kind for kind in content.kinds])
    apart = ", separately for each kind of features" if len(content.kinds) > 1 else ""
    said = []
    if asked.get("subsample"):
        said.append(
            "In each participant and phase, trials were drawn at random so that each class had as many as "
            "the smallest."
        )
    said.append(
        f"Within each participant and time bin, trials of {first.train_phase} were classified as {named} "
        f"from the {kinds} features of that bin{apart}, by {folded} with the same folds for all bins."
    )
    said.append(_selected(asked))
    # A build script need not give the words.
    classifier = content.settings.get(WORDS, {}).get("classifier") or content.settings["estimator"]["kind"]
    said.append(f"The classifier was {classifier}.")
    if asked.get("class_weight") is not None:
        said.append("Trials were weighted inversely to the number of training trials of their class.")
    said += _generalized(content, asked, by_run)
    each = ", of each class against the rest and averaged over classes (Hand & Till, 2001)"
    said.append(f"Scores are {SCORES[first.curve.score].format(each if len(classes) > 2 else '')}")
    if lost := sum(kind.left_out for kind in content.kinds):
        said.append(
            f"In {folds_without(content.kinds, content.settings)} no feature was selected; "
            f"{'its' if lost == 1 else 'their'} held-out trials counted as guessed."
        )
    return " ".join(said)


def _selected(asked: Settings) -> str:
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


def _generalized(content: ReportContent, asked: Settings, by_run: bool) -> list[str]:
    kinds = [kind for kind in content.kinds if kind.generalization is not None]
    if not kinds:
        return []
    of = "" if len(kinds) == len(content.kinds) else f" of {listed([kind.kind for kind in kinds])} features"
    start = f"For temporal generalization (King & Dehaene, 2014), the classifiers{of} of each bin"
    if kinds[0].train_phase == kinds[0].test_phase:
        return [f"{start} were also applied to all other bins of the trials that their fold had held out."]
    scaled = " z-scored over its trials," if asked["scaling"] == "separate" else ""
    averaged = "classifiers" if by_run else f"{asked['folds']} classifiers"
    return [
        f"{start} and fold were applied to each bin of {kinds[0].test_phase},{scaled} and scores were "
        f"averaged over the {averaged} of a bin."
    ]


def statistics(content: ReportContent) -> str:
    """Describe how scores were tested."""
    first = content.kinds[0]
    asked, group = content.settings["permutations"], content.settings["group"]
    alone = first.curve.level == "participant"
    said = []
    if group["smooth"]:
        sigma = f"{group['smooth']:g} bin{'s' * (group['smooth'] != 1)}"
        reach = f"cut off at {group['truncate']:g} σ"
        said.append(f"Scores were smoothed over bins with a Gaussian (σ = {sigma}, {reach}).")
    chance = f"chance ({chance_text(first.curve)})"
    if first.curve.expected is not None:
        chance = (
            "chance, which was the mean of each participant's own scores under permuted labels, as classes "
            "differed in size (Combrisson & Jerbi, 2015)"
        )
    if alone:
        said.append(
            f"In each bin the participant's deviation from {chance} was divided by the standard deviation of "
            "the scores under permuted labels (two-sided z)."
        )
    else:
        people = counted(len(first.participants), "participant")
        said.append(
            f"In each bin the scores of the {people} were compared with {chance} by a two-sided one-sample t "
            "test."
        )
    permuted = alone or group["null"] == "permutations"
    said.append(_permuted(asked, first) if permuted else _flipped(first))
    said.append(_corrected(first, group))
    text = " ".join(said)
    by_run = content.settings.get("decoding", {}).get("fold_by") == "run"
    return text.replace("within folds", "within runs") if by_run else text


def _permuted(asked: Settings, first: KindResult) -> str:
    null, plane = first.curve.null or asked["null"], first.generalization
    maps = f"{len(first.curve.null_max):,}"
    if null not in ("training-labels", "retrained"):
        return (
            f"The null distribution is of {maps} permutations of the true labels of the classified trials, "
            "within folds where these were cross-validated, with the predictions unchanged."
        )
    alike = plane is None or (plane.null or asked["null"]) == null
    if null == "retrained":
        count = RETRAINED if asked["retrained"] is None else asked["retrained"]
        again = (
            f"For cross-validated scores all was trained again {count:,} times for each participant, from "
            f"the selection of features on, with labels permuted within folds; each of {maps} maps of the "
            "null distribution takes one of these, or the true one, of every participant (Stelzer et al., "
            "2013; Hemerik & Goeman, 2018)."
        )
    else:
        again = (
            f"The null distribution{'' if alike else ' of cross-validated scores'} is of {maps} permutations "
            "of the training labels within folds, with all classifiers trained again."
        )
    if plane is None or alike:
        return again
    return (
        f"{again} That of scores in the other phase is of {len(plane.null_max):,} permutations of the true "
        "labels of the classified trials, with the predictions unchanged."
    )


def _flipped(first: KindResult) -> str:
    patterns = len(first.curve.null_max)
    ways = f"all {patterns:,} ways" if _has_every_pattern(first) else f"{patterns:,} random ways"
    return (
        f"The null distribution is of {ways} to flip the signs of the participants' deviations from chance "
        "(Nichols & Holmes, 2002; Winkler et al., 2014)."
    )


def _corrected(first: KindResult, group: Settings) -> str:
    flips = group["null"] == "sign-flips" and first.curve.level == "group"
    p = (
        f"p = (1 + b) / (1 + m) for b of m {'sign patterns' if flips else 'permutations'} with at least as "
        "large a statistic (Phipson & Smyth, 2010)"
    )
    if flips and _has_every_pattern(first):
        p = "p is the share of sign patterns with at least as large a statistic"
    return (
        "p values were corrected for all bins by the distribution of the maximum statistic (Nichols & "
        "Holmes, 2002) and by that of the maximum cluster mass (Maris & Oostenveld, 2007), of clusters of "
        f"neighbouring bins with two-sided p < {group['cluster_alpha']:g} that differ from chance the same "
        f"way; {p}. The family-wise error rate is {group['alpha']:g}."
    )


def _has_every_pattern(first: KindResult) -> bool:
    # Random patterns are fewer than all of them.
    return bool(len(first.curve.null_max) == 2 ** len(first.participants))
