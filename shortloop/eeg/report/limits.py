"""What a report says that its results cannot say."""

from __future__ import annotations

from shortloop.eeg.report.content import ReportContent
from shortloop.eeg.report.sentences import folds_without

__all__ = ["limits"]


def limits(content: ReportContent) -> list[str]:
    """What cannot be said from these results."""
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
