"""The sections of the report, in their order. A new one is a module beside this, and a line here."""

from __future__ import annotations

from shortloop.eeg.report.sections import (
    best_scores,
    confusion,
    decoding_over_time,
    effects,
    generalization,
    null_distribution,
    participants,
    patterns,
    selected_features,
)
from shortloop.eeg.report.sections.section import Section

__all__ = ["SECTIONS"]

SECTIONS: tuple[Section, ...] = (
    decoding_over_time.SECTION,
    generalization.SECTION,
    participants.SECTION,
    confusion.SECTION,
    patterns.SECTION,
    selected_features.SECTION,
    null_distribution.SECTION,
    effects.SECTION,
    best_scores.SECTION,
)
