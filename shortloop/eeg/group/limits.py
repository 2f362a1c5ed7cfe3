"""What statistics of so few people or permutations cannot say, in words for their readers."""

from __future__ import annotations

import math
from typing import Literal

__all__ = ["SHARED_TRAINING", "TOO_SMALL", "limits_note"]

SHARED_TRAINING = (
    "These p values are too small: the folds share their training trials, so cross-validated scores of noise "
    "vary more than the same predictions under shuffled labels do. For one participant use "
    'permutations.null = "training-labels", or leave it out.'
)
"""Of one participant's cross-validated scores, tested by shuffling the labels of predicted trials: on noise,
about one curve in five was significant at 0.05. Over participants the t statistic takes care of it."""

TOO_SMALL = "p is too small, as the labels were shuffled after training: leave out permutations.null"
"""The same beside a p value."""

FEW_PARTICIPANTS = 6
"""From this many participants on, sign flips can reach p < 0.05 (2 / 2^6)."""


def limits_note(
    participants: int,
    permutations: int,
    alpha: float,
    null: Literal["permutations", "sign-flips"],
    draws: int | None = None,
) -> str:
    """Say what these statistics cannot say."""
    sentences = []
    if participants == 1:
        sentences.append(
            "There is one participant: the map is compared with maps of that participant's shuffled labels, "
            "which says nothing about other people."
        )
    unreachable = _unreachable(participants, permutations, alpha, null, draws)
    if unreachable:
        sentences.append(unreachable)
    elif 1 < participants < FEW_PARTICIPANTS:
        sentences.append(
            f"With only {participants} participants, only large effects that all of them share can reach "
            "significance, so a map without significant cells says little."
        )
    return " ".join(sentences)


def _unreachable(participants: int, permutations: int, alpha: float, null: str, draws: int | None) -> str:
    flips = null == "sign-flips" and participants > 1
    if flips and 2.0 ** (1 - participants) > alpha:
        return (
            f"With {participants} participants, flipping signs gives no p below "
            f"{2.0 ** (1 - participants):.3g}, so nothing can be significant at {alpha:g}; "
            f"it takes {math.ceil(1 - math.log2(alpha))} participants."
        )
    if draws is not None and participants > 1 and null == "permutations":
        smallest = (permutations + 1.0) ** -participants
        if smallest > alpha:
            return (
                f"With {participants} participants and {permutations} trainings of each on shuffled labels, "
                f"no p is expected below {smallest:.3g}, so nothing can be significant at {alpha:g}; "
                f"it takes {math.ceil(alpha ** (-1 / participants)) - 1} trainings."
            )
        permutations = draws
    if 1 / (permutations + 1) > alpha:
        return (
            f"With {permutations} permutation{'s' * (permutations != 1)} no p can be below "
            f"{1 / (permutations + 1):.3g}, so nothing can be significant at {alpha:g}; "
            f"it takes {_enough(alpha)} permutations."
        )
    return ""


def _enough(alpha: float) -> int:
    # The division's rounding may miss the smallest such number by one, either way.
    guess = max(1, math.ceil(1 / alpha) - 2)
    while 1 / (guess + 1) > alpha:
        guess += 1
    return guess
