"""The sections of the report, in their order. A new one is a module beside this, and a line here."""

from __future__ import annotations

from shortloop.eeg.report.sections import (
    best_scores,
    decoding_over_time,
    generalization,
    null_distribution,
    participants,
)
from shortloop.eeg.report.sections.section import Section

__all__ = ["SECTIONS"]

SECTIONS: tuple[Section, ...] = (
    decoding_over_time.SECTION,
    generalization.SECTION,
    participants.SECTION,
    null_distribution.SECTION,
    best_scores.SECTION,
)
