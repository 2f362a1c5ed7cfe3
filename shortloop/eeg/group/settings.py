"""Settings of the statistics over participants, their null distributions, and the limits of both in words."""

from __future__ import annotations

import itertools
import math
from typing import Literal

from pydantic import Field

from shortloop.settings.base import Settings

RETRAINED = 19
"""Trainings on shuffled labels of each participant, where many cost about one. With 9, effects are found
about as often; with 4, hardly less often."""

NullName = Literal["", "test-labels", "training-labels", "retrained", "sign-flips"]
"""Null distribution of maps; empty: unknown."""

NULLS: dict[NullName, str] = {
    "": "permutations",
    "test-labels": "permutations of the test labels",
    "training-labels": "permutations of the training labels",
    "retrained": "draws of maps that were trained again on shuffled labels",
    "sign-flips": "sign flips",
}

TEST_LABELS = (  # measured by `make bench PARTS=level`
    "Cross-validated scores were tested with shuffled test labels, under which they vary less, and less "
    "askew, than scores of classifiers that are trained again: of simulated studies of noise (linear SVM on "
    "selected features, 8 participants) about 6 % were significant at 0.05. Trainings on shuffled labels "
    "hold 5 % (permutations.retrained = 9)."
)

SHARED_TRAINING = (
    "These p values are too small: the folds share their training trials, so cross-validated scores of noise "
    "vary more than the same predictions under shuffled labels do. For one participant use "
    'permutations.null = "training-labels", or leave it out.'
)
"""Note on one participant's cross-validated scores, tested by shuffling labels of predicted trials: on noise,
about one curve in five was significant at 0.05. Over participants the t statistic takes care of it."""

TOO_SMALL = "p is too small, as the labels were shuffled after training: leave out permutations.null"
"""Short form of that note, beside a p value."""

FEW_PARTICIPANTS = 6  # from this many participants on, sign flips can reach p < 0.05 (2 / 2^6)


class GroupSettings(Settings):
    """Statistics over participants."""

    smooth: float = Field(
        1.0, ge=0, description="sigma of the Gaussian that smooths each map, bins; default 1; 0: none"
    )
    truncate: float = Field(2.0, gt=0, description="radius of that Gaussian, in sigmas; default 2")
    alpha: float = Field(0.05, gt=0, lt=1, description="family-wise error rate; default 0.05")
    cluster_alpha: float = Field(
        0.05, gt=0, lt=1, description="two-sided p of one cell that puts it into a cluster; default 0.05"
    )
    null: Literal["permutations", "sign-flips"] = Field(
        "permutations",
        description="null distribution of the group: the participants' permuted maps, or their observed maps "
        "with signs flipped about chance; default 'permutations'",
    )


def limits_note(
    participants: int,
    permutations: int,
    alpha: float,
    null: Literal["permutations", "sign-flips"],
    draws: int | None = None,
) -> str:
    """Describe the limits of these statistics; empty if there are none."""
    sentences = []
    if participants == 1:
        sentences.append(
            "There is one participant: the map is compared with maps of that participant's shuffled labels, "
            "which says nothing about other people."
        )
    if unreachable := _unreachable(participants, permutations, alpha, null, draws):
        sentences.append(unreachable)
    elif 1 < participants < FEW_PARTICIPANTS:
        sentences.append(
            f"With only {participants} participants, only large effects that all of them share can reach "
            "significance, so a map without significant cells says little."
        )
    return " ".join(sentences)


def _unreachable(participants: int, permutations: int, alpha: float, null: str, draws: int | None) -> str:
    found = []  # smallest p, of what, and what it takes
    if participants > 1 and null == "sign-flips":
        least, enough = 2.0 ** (1 - participants), math.ceil(1 - math.log2(alpha))
        found.append((least, f"flipped signs of {participants} participants", f"{enough} participants"))
    elif participants > 1 and draws is not None:
        least, enough = (permutations + 1.0) ** -participants, math.ceil(alpha ** (-1 / participants)) - 1
        of = f"{permutations} trainings of each of {participants} participants on shuffled labels"
        found.append((least, of, f"{enough} trainings"))
        permutations = draws
    # The division's rounding may miss the smallest such number by one, either way.
    enough = next(n for n in itertools.count(max(1, math.ceil(1 / alpha) - 2)) if 1 / (n + 1) <= alpha)
    of = f"{permutations} permutation{'s' * (permutations != 1)}"
    found.append((1 / (permutations + 1), of, f"{enough} permutations"))
    for least, of, needed in found:
        if least > alpha:
            return (
                f"With {of}, no p is expected below {least:.3g}, so nothing can be significant at {alpha:g}; "
                f"it takes {needed}."
            )
    return ""
