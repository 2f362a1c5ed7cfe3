"""Sentences of the report: its overview, its limits, and phrases that sections share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shortloop.base.text import listed
from shortloop.eeg.group.maps import MapStatistics
from shortloop.eeg.group.settings import NULLS, TOO_SMALL
from shortloop.eeg.report.content import KindResult, ReportContent
from shortloop.eeg.report.labels import chance_text, p_text
from shortloop.eeg.report.sensors import measures
from shortloop.eeg.report.times import TimeScale

SCORES = {
    "balanced-accuracy": "balanced accuracy, the mean over classes of recall, in percent",
    "accuracy": "accuracy, the share of trials that are called what they are, in percent",
    "auc": "the area under the ROC curve (AUC), of more than two classes the mean of each against the rest, "
    "averaged over folds",
}


def folds_without(kinds: Iterable[KindResult], settings: dict[str, Any]) -> str:
    """Format the number of folds without a model, of all if that is known."""
    every = [(kind.left_out, len(kind.participants) * len(kind.train_times)) for kind in kinds]
    lost, trained = (sum(each) for each in zip(*every, strict=True))
    decoding = settings.get("decoding", {})
    folds = None if decoding.get("fold_by") == "run" else decoding.get("folds")
    said = f"{lost:,} " if folds is None else f"{lost:,} of {folds * trained:,} "
    return f"{said}fold" if lost == 1 and folds is None else f"{said}folds"


def significance(start: str, clusters: list[str], found: dict[str, Any], alpha: float) -> str:
    """Say whether something differs from chance."""
    caution = f" But {TOO_SMALL}." if found["too_small"] else ""
    if clusters:
        return f"{start} was significantly {listed(clusters)}.{caution}"
    p, p_max = p_text(found["p"]), p_text(found["p_max"])
    if found["p_max"] is not None and found["p_max"] <= alpha:
        return (
            f"{start} differed from chance in no cluster (smallest corrected {p}), but in single "
            f"bins by the maximum statistic ({p_max}).{caution}"
        )
    smallest = f"smallest corrected {p} by clusters, {p_max} by the maximum statistic"
    return f"{start} did not differ significantly from chance anywhere ({smallest})."


def during(scale: TimeScale, start: float, end: float) -> str:
    """Format a span of time within a sentence."""
    return f"at {scale.point(start)}" if start == end else f"from {scale.span(start, end)}"


def mean_score(result: KindResult) -> str:
    """Name the values of a map of scores."""
    if result.curve.level == "group":
        return "mean score"
    return "smoothed score" if result.smoothed else "score"


def statistic(result: KindResult) -> str:
    """Name the statistic of the maps."""
    alone = result.curve.level == "participant"
    return "z in the participant's own permutations" if alone else "one-sample t against chance"


def transfer(result: KindResult) -> str:
    """Name the phases that classifiers generalize between."""
    if result.train_phase == result.test_phase:
        return f"across time within {result.train_phase}"
    return f"from {result.train_phase} to {result.test_phase}"


def corrected(stats: MapStatistics, settings: dict[str, Any]) -> str:
    """Say how p values are corrected."""
    return (
        f"Corrected for all cells with {len(stats.null_max):,} {null_word(stats, settings)} "
        f"(two-sided, family-wise α = {stats.alpha:g})."
    )


def null_word(stats: MapStatistics, settings: dict[str, Any]) -> str:
    """Name the units of the null distribution."""
    if stats.null:
        return NULLS[stats.null]
    if stats.level == "group" and settings.get("group", {}).get("null") == "sign-flips":
        return NULLS["sign-flips"]
    return NULLS[settings.get("permutations", {}).get("null") or ""]


def overview(content: ReportContent) -> str:
    """Write the first words of a report: who was decoded, into which classes, and the chance level."""
    names = sorted({name for kind in content.kinds for name in kind.participants})
    whose = f"participant {names[0]}" if len(names) == 1 else f"{len(names)} participants"
    classes = [str(name) for name in content.settings.get("classes", ())]
    what = f" into {len(classes)} classes ({listed(classes)})" if classes else ""
    chances = sorted({chance_text(kind.curve) for kind in content.kinds})
    chance = f"; chance is {listed(chances)}" if chances else ""
    scores = listed([SCORES[score] for score in sorted({kind.curve.score for kind in content.kinds})])
    recorded = measures(content.recordings)
    of = f"{listed(recorded) or 'Ready-made features'} of {whose} {'was' if len(recorded) == 1 else 'were'}"
    timed = any(kind.time_unit != "bin" for kind in content.kinds)
    times = "; times are centres of time bins" if timed else ""
    return f"{of} decoded{what}{chance}. Scores are {scores}{times}."


def limits(content: ReportContent) -> list[str]:
    """List what these results cannot show."""
    both = [stats for kind in content.kinds for stats in (kind.curve, kind.generalization)]
    parts = [stats for stats in both if stats is not None]
    notes = list(dict.fromkeys(stats.note for stats in parts if stats.note))
    notes += dict.fromkeys(stats.error_rate for stats in parts if stats.error_rate)
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
            notes.append(
                f"{kind.kind.capitalize()}: {folds_without([kind], content.settings)} kept no feature and "
                f"gave no model; {'its' if kind.left_out == 1 else 'their'} held-out trials count as guessed."
            )
        only = len(kind.train_times) == 1 and kind.test_phase == kind.train_phase
        if kind.generalization is None and not only:
            where = kind.test_phase if kind.test_phase != kind.train_phase else "other times"
            notes.append(
                f"{kind.kind.capitalize()}: the classifiers were not applied to {where}, so nothing is said "
                "about generalization."
            )
    return [*notes, *content.notes]


def counted(count: int, what: str) -> str:
    """Format a number of things."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def numbers(values: Sequence[float]) -> str:
    """List numbers in a sentence."""
    return listed([f"{value:g}" for value in values])


def spread(values: Sequence[float]) -> str:
    """Format the range of values of several recordings."""
    low, high = (
        f"{each:,.0f}" if each == round(each) else f"{each:g}" for each in (min(values), max(values))
    )
    return low if low == high else f"{low} to {high}"


def window(start: float, end: float) -> str:
    """Format a span of time, from seconds to ms."""
    return f"{1000 * start:.5g} to {1000 * end:.5g} ms".replace("-", "−")
