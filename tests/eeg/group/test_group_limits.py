"""The note says what cannot be reached, and the numbers in it are right."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shortloop.eeg.group.settings import GroupSettings, limits_note
from shortloop.eeg.group.statistics import group_statistics


def test_one_participant() -> None:
    note = limits_note(1, 1000, 0.05, "permutations")
    assert "other people" in note
    assert note.count(".") == 1
    assert "permutation" in limits_note(1, 10, 0.05, "sign-flips")
    assert "participants," not in limits_note(1, 10, 0.05, "sign-flips")


def test_few_participants() -> None:
    for participants in range(2, 6):
        assert f"only {participants} participants" in limits_note(participants, 1000, 0.05, "permutations")


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001, 0.1, 1 / 3, 0.02])
def test_the_permutations_it_takes_are_just_enough(alpha: float) -> None:
    note = limits_note(18, 1, alpha, "permutations")
    needed = int(re.findall(r"it takes (\d+) permutations", note)[0])
    assert 1 / (needed + 1) <= alpha < 1 / needed
    assert limits_note(18, needed, alpha, "permutations") == ""
    assert limits_note(18, needed - 1, alpha, "permutations") != ""


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.125, 0.001])
def test_the_participants_flips_take_are_just_enough(alpha: float) -> None:
    note = limits_note(2, 10**6, alpha, "sign-flips")
    needed = int(re.findall(r"it takes (\d+) participants", note)[0])
    assert 2 / 2**needed <= alpha < 4 / 2**needed


@pytest.mark.parametrize(("participants", "reaches"), [(5, False), (6, True)])
def test_what_it_says_of_flips_is_so(participants: int, reaches: bool) -> None:
    scores = np.random.default_rng(7).normal(80, 1, (participants, 4))
    permuted = [np.full((200, 4), 50.0)] * participants
    result = group_statistics(scores, permuted, chance=50, settings=GroupSettings(null="sign-flips"))
    assert (result.p_max.min() <= 0.05) == reaches
    assert result.significant.any() == reaches
    assert (result.note == "") == reaches


def test_what_it_says_of_permutations_is_so() -> None:
    rng = np.random.default_rng(8)
    for count in (18, 19):
        permuted = [rng.normal(50, 1, (count, 4)) for _ in range(10)]
        observed = rng.normal(80, 1, (10, 4))
        result = group_statistics(observed, permuted, chance=50, settings=GroupSettings())
        assert result.significant.any() == (count == 19) == (result.note == "")
