"""Which null distribution a map was tested with, and how often that calls noise significant."""

from __future__ import annotations

from typing import Literal

__all__ = ["NULLS", "RETRAINED", "NullName", "error_rate"]

RETRAINED = 19
"""Trainings on shuffled labels of each participant, where many cost about one. With 9, effects are found
about as often; with 4, hardly less often."""

NullName = Literal["", "test-labels", "training-labels", "retrained", "sign-flips"]
"""What null maps are; empty: not known."""

NULLS: dict[NullName, str] = {
    "": "permutations",
    "test-labels": "permutations of the test labels",
    "training-labels": "permutations of the training labels",
    "retrained": "draws of maps that were trained again on shuffled labels",
    "sign-flips": "sign flips",
}
"""The same in words."""

TEST_LABELS = (
    "Cross-validated scores were tested with shuffled test labels, under which they vary less, and less "
    "askew, than scores of classifiers that are trained again: of simulated studies of noise (linear SVM on "
    "selected features, 8 participants) about 6 % were significant at 0.05. Trainings on shuffled labels "
    "hold 5 % (permutations.retrained = 9)."
)
"""Measured by ``make bench PARTS=level``."""


def error_rate(null: NullName, cross_validated: bool) -> str:
    """What is known of the rate at which a group's null calls noise significant."""
    return TEST_LABELS if cross_validated and null == "test-labels" else ""
