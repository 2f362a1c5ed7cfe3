"""The report in sentences: what was found, what each figure shows, and what cannot be said."""

from __future__ import annotations

from functools import partial
from typing import Any

from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text, score_text
from shortloop.eeg.report.summary import group_findings
from shortloop.eeg.report.times import TimeScale, time_scale

__all__ = ["caption", "finding_sentences", "limits", "listed", "overview", "p_text"]

SCORES = {
    "balanced-accuracy": "balanced accuracy, the mean over classes of recall, in percent",
    "accuracy": "accuracy, the share of trials that are called what they are, in percent",
    "auc": "the area under the ROC curve (AUC), of more than two classes the mean of each against the rest, "
    "averaged over folds",
}


def overview(content: ReportContent) -> str:
    """First words of a report: who was decoded, into what, and the level of chance.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    str
        Two sentences.
    """
    names = sorted({name for kind in content.kinds for name in kind.participants})
    whose = f"participant {names[0]}" if len(names) == 1 else f"{len(names)} participants"
    classes = [str(name) for name in content.settings.get("classes", ())]
    what = f" into {len(classes)} classes ({listed(classes)})" if classes else ""
    chances = sorted({chance_text(kind.curve) for kind in content.kinds})
    chance = f"; chance is {listed(chances)}" if chances else ""
    scores = listed([SCORES[score] for score in sorted({kind.curve.score for kind in content.kinds})])
    return f"EEG of {whose} was decoded{what}{chance}. Scores are {scores}; times are centres of time bins."


def finding_sentences(result: KindResult) -> list[str]:
    """What was found of one kind of features: a sentence for the curve, and one for the generalization.

    Parameters
    ----------
    result : KindResult

    Returns
    -------
    list of str
    """
    found, scale = group_findings(result), time_scale(result)
    curve, plane = found["curve"], found["generalization"]
    text = partial(score_text, result.curve.score)
    score = "smoothed score" if found["level"] == "participant" else "mean score"
    windows = [
        f"{cluster['direction']} chance {_during(scale, cluster['start'], cluster['end'])} "
        f"({p_text(cluster['p'])})"
        for cluster in curve["clusters"]
    ]
    start = f"{result.kind.capitalize()}, cross-validated within {result.train_phase}: decoding"
    sentences = [_significance(start, windows, curve)]
    if curve["peak"] is not None:
        peak = f"The {score} was highest at {scale.point(curve['peak_time'])}, {text(curve['peak'])}."
        sentences[0] += f" {peak}"
    if plane is None:
        return sentences
    regions = [
        f"{region['direction']} chance for training {_during(scale, *region['train'])} and testing "
        f"{_during(scale, *region['test'])} ({p_text(region['p'])})"
        for region in plane["regions"]
    ]
    to = f"from {result.train_phase} to {result.test_phase}"
    if result.train_phase == result.test_phase:
        to = f"across time within {result.train_phase}"
    start = f"{result.kind.capitalize()}, generalization {to}: decoding"
    sentences.append(_significance(start, regions, plane))
    if plane["peak"] is not None:
        sentences[1] += (
            f" The {score} was highest for training at {scale.point(plane['peak_train_time'])} and testing "
            f"at {scale.point(plane['peak_test_time'])}, {text(plane['peak'])}."
        )
    return sentences


def caption(figure: str, result: KindResult, settings: dict[str, Any]) -> str:
    """What is seen in a figure, and how it was computed.

    Parameters
    ----------
    figure : {"decoding_over_time", "generalization", "participants", "null_distribution"}
    result : KindResult
    settings : dict
        The study as plain data; what it lacks is not said.

    Returns
    -------
    str
    """
    alone = result.curve.level == "participant"
    folds = settings.get("decoding", {}).get("folds")
    folded = f"{folds}-fold cross-validation" if folds else "cross-validation"
    statistic = "z in the participant's own permutations" if alone else "one-sample t against chance"
    corrected = (
        f"Corrected for all cells with {len(result.curve.null_max):,} {_null_word(result, settings)} "
        f"(two-sided, family-wise α = {result.curve.alpha:g})."
    )
    if figure == "decoding_over_time":
        band = (
            "Blue: the participant's score, smoothed as for the statistics; grey: not smoothed."
            if alone
            else "Blue: mean over participants, smoothed as for the statistics, with its 95 % confidence "
            "interval (Student's t); grey: each participant, not smoothed."
        )
        return (
            f"Decoding of {result.train_phase} trials from {result.kind} features of the same time bin, by "
            f"{folded}. {band} Bars below: bins that differ from chance (dashed), by cluster mass (black) "
            f"and by the maximum statistic (orange); the statistic is {statistic}. {corrected}"
        )
    if figure == "generalization":
        return (
            f"Classifiers trained on each time bin of {result.train_phase} (x) decode each time bin of "
            f"{result.test_phase} (y) from {result.kind} features. Left: "
            f"{'score' if alone else 'mean over participants'}, smoothed; right: {statistic}. Outlined cells "
            f"belong to significant clusters. {corrected}"
        )
    if figure == "participants":
        if result.generalization is None:
            return f"Cross-validated decoding of {result.train_phase}, not smoothed; dashed: chance."
        return (
            f"Generalization from {result.train_phase} to {result.test_phase}, not smoothed, on one "
            "scale centred at chance; the most extreme 0.5 % of cells may lie beyond its ends."
        )
    return (
        "What chance gives: the largest statistic of each whole null map (above) and the mass of its "
        f"heaviest cluster (below), over {len(result.curve.null_max):,} {_null_word(result, settings)}; "
        f"observed maxima in orange. Values right of the dashed line have p ≤ {result.curve.alpha:g}."
    )


def limits(content: ReportContent) -> list[str]:
    """What cannot be said from these results.

    Parameters
    ----------
    content : ReportContent

    Returns
    -------
    list of str
        A sentence or two for each limit, and at the end the notes of the import.
    """
    both = [stats for kind in content.kinds for stats in (kind.curve, kind.generalization)]
    parts = [stats for stats in both if stats is not None]
    notes = list(dict.fromkeys(stats.note for stats in parts if stats.note))
    if any(stats.significant.any() for stats in parts):
        notes.append(
            "A significant cluster says that there is an effect somewhere in it. Its edges are no estimate "
            "of when the effect begins or ends (Sassenhagen & Draschkow, 2019, Psychophysiology 56:e13335)."
        )
    if any(stats.level == "group" for stats in parts):
        notes.append(
            "A true score cannot lie below chance, so a mean above chance says that some participants carry "
            "the information, not that a typical one does (Allefeld, Görgen & Haynes, 2016, NeuroImage "
            "141:378-392)."
        )
    if any(stats.expected is not None for stats in parts):
        notes.append(
            "Classes differ in size, so that naming the largest one raises accuracy without any information. "
            "Chance is therefore what each participant's own scores are under shuffled labels, in each cell "
            "(Combrisson & Jerbi, 2015, J. Neurosci. Methods 250:126-136); balanced accuracy and AUC need no "
            "such care."
        )
    notes.append(
        "Peak scores are the largest of many, so they lie above chance even where there is no information; "
        "judge significance by the corrected p values only."
    )
    for kind in content.kinds:
        if kind.left_out:
            folds, their = ("fold", "its") if kind.left_out == 1 else ("folds", "their")
            notes.append(
                f"{kind.kind.capitalize()}: {kind.left_out} {folds} kept no feature and gave no model; "
                f"{their} held-out trials count as guessed."
            )
        if kind.generalization is None:
            where = kind.test_phase if kind.test_phase != kind.train_phase else "other times"
            notes.append(
                f"{kind.kind.capitalize()}: the classifiers were not applied to {where}, so nothing is said "
                "about generalization."
            )
    return [*notes, *content.notes]


def p_text(p: float | None) -> str:
    """A p value as journals print it.

    Parameters
    ----------
    p : float or None

    Returns
    -------
    str
        E.g. ``"p = 0.012"`` or ``"p < 0.001"``; ``"p unknown"`` for None.
    """
    if p is None:
        return "p unknown"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def listed(items: list[str]) -> str:
    """Items in a sentence.

    Parameters
    ----------
    items : list of str

    Returns
    -------
    str
        ``"a"``, ``"a and b"``, ``"a, b and c"``; empty without items.
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def _significance(start: str, clusters: list[str], found: dict[str, Any]) -> str:
    if clusters:
        return f"{start} was significantly {listed(clusters)}."
    smallest = p_text(found["p"])
    return f"{start} did not differ significantly from chance anywhere (smallest corrected {smallest})."


def _during(scale: TimeScale, start: float, end: float) -> str:
    return f"at {scale.point(start)}" if start == end else f"from {scale.span(start, end)}"


def _null_word(result: KindResult, settings: dict[str, Any]) -> str:
    if result.curve.level == "group" and settings.get("group", {}).get("null") == "sign-flips":
        return "sign flips"
    which = settings.get("permutations", {}).get("null", "")
    return f"permutations of the {which.removesuffix('-labels')} labels" if which else "permutations"
