"""Null maps of a few trainings equal a plain loop and hold their level; notes say what is not reached."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from scipy import ndimage, stats

import shortloop.eeg.group.statistics as room
from shortloop.eeg.group.maps import TRUE, draw_rows
from shortloop.eeg.group.settings import GroupSettings, limits_note
from shortloop.eeg.group.statistics import group_statistics

CHANCE = 100 / 3


def seed(number: int = 0) -> np.random.SeedSequence:
    return np.random.SeedSequence(number)


def maps_of(
    participants: int, others: int, shape: tuple[int, ...], number: int = 0
) -> tuple[np.ndarray, list[np.ndarray]]:
    """True maps, and others that could be true."""
    maps = np.random.default_rng(number).normal(CHANCE, 4, (participants, 1 + others, *shape))
    return maps[:, 0], list(maps[:, 1:])


def test_every_map_is_drawn_as_often_and_participants_are_independent() -> None:
    rows = draw_rows(3, 4, 20_000, seed())
    assert rows.shape == (20_000, 3)
    counts = np.stack([(rows == number).sum(axis=0) for number in range(5)])
    assert stats.chisquare(counts, axis=0).pvalue.min() > 0.001
    for one, other in itertools.combinations(range(3), 2):
        pairs = np.bincount(5 * rows[:, one] + rows[:, other], minlength=25)
        assert stats.chisquare(pairs).pvalue > 0.001
    np.testing.assert_array_equal(draw_rows(3, 4, 20_000, seed()), rows)
    assert (draw_rows(3, 4, 20_000, seed(1)) != rows).any()


@pytest.mark.parametrize("shape", [(15,), (7, 9)])
def test_they_equal_a_plain_loop(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    observed, others = maps_of(6, 3, shape)
    observed = observed + 4
    asked: dict[str, Any] = {"chance": CHANCE, "settings": GroupSettings(), "draws": 50}
    found = group_statistics(observed, others, seed=seed(), **asked)
    null = []
    for row in draw_rows(6, 3, 50, seed()):
        drawn = [others[who][each - 1] if each != TRUE else observed[who] for who, each in enumerate(row)]
        smooth = [ndimage.gaussian_filter(each, 1.0, mode="nearest", truncate=2.0) for each in drawn]
        null.append(np.abs(stats.ttest_1samp(smooth, CHANCE).statistic).max())
    np.testing.assert_allclose(found.null_max, null, rtol=1e-9)
    larger = (np.array(null) >= np.abs(found.t)[..., np.newaxis]).sum(axis=-1)
    np.testing.assert_array_equal(found.p_max, (1 + larger) / 51)
    monkeypatch.setattr(room, "VALUES_AT_ONCE", 1)
    pieces = group_statistics(observed, others, seed=seed(), **asked)
    np.testing.assert_allclose(pieces.null_max, found.null_max, rtol=1e-12)


@pytest.mark.parametrize("others", [1, 2])
def test_whichever_map_is_the_true_one_few_are_significant(others: int) -> None:
    """Of all that a group of few could have shown: by no more than alpha of it, at any alpha."""
    maps = np.random.default_rng(3).exponential(4.0, (3, 1 + others, 5)) + CHANCE - 4.0
    p = []
    for number, row in enumerate(itertools.product(range(1 + others), repeat=3)):
        observed = np.stack([maps[who, which] for who, which in enumerate(row)])
        rest = [np.delete(maps[who], which, axis=0) for who, which in enumerate(row)]
        asked: dict[str, Any] = {"chance": CHANCE, "settings": GroupSettings(), "draws": 2000}
        p.append(group_statistics(observed, rest, seed=seed(number), **asked).p_max.min())
    for alpha in (0.05, 0.1, 0.25, 0.5, 0.75):
        # Random draws estimate the share of combinations that are as large: hence the little more.
        assert np.mean(np.array(p) <= alpha - 0.03) <= alpha


@pytest.mark.parametrize("others", [1, pytest.param(4, marks=pytest.mark.slow)])
def test_error_rate_of_scores_that_are_askew(others: int) -> None:
    """Of which sign flips, which need symmetry, call too many significant."""
    smallest = []
    for group in range(400):
        rng = np.random.default_rng([7, group])
        maps = rng.exponential(4.0, (6, 1 + others, 4)) + CHANCE - 4.0
        asked: dict[str, Any] = {"chance": CHANCE, "settings": GroupSettings(smooth=0), "draws": 39}
        found = group_statistics(maps[:, 0], list(maps[:, 1:]), seed=seed(group), **asked)
        smallest.append((found.p_max.min(), found.p_cluster.min()))
    for alpha in (0.05, 0.2, 0.5):
        low, high = stats.binom.ppf([0.0005, 0.9995], len(smallest), alpha)
        p_max, p_cluster = np.array(smallest).T
        assert low <= (p_max <= alpha).sum() <= high
        assert (p_cluster <= alpha).sum() <= high


def test_one_participant_has_only_the_own_maps_and_what_cannot_be_drawn_is_refused() -> None:
    observed, others = maps_of(1, 30, (8,))
    asked: dict[str, Any] = {"chance": CHANCE, "settings": GroupSettings()}
    drawn = group_statistics(observed, others, draws=500, **asked)
    plain = group_statistics(observed, others, **asked)
    np.testing.assert_array_equal(drawn.null_max, plain.null_max)
    assert drawn.note == plain.note
    observed, others = maps_of(4, 3, (6,))
    asked: dict[str, Any] = {"chance": CHANCE, "settings": GroupSettings()}
    with pytest.raises(ValueError, match="need a seed"):
        group_statistics(observed, others, draws=9, **asked)
    with pytest.raises(ValueError, match="at least one"):
        group_statistics(observed, others, draws=0, seed=seed(), **asked)
    others[2][1, 3] = np.nan  # whether it is drawn or not
    with pytest.raises(ValueError, match="participant 2"):
        group_statistics(observed, others, draws=1, seed=seed(), **asked)


@pytest.mark.parametrize("participants", [2, 3, 4])
def test_the_trainings_it_takes_are_just_enough(participants: int) -> None:
    note = limits_note(participants, 1, 0.05, "permutations", 1000)
    reached = 2.0**-participants <= 0.05
    assert ("it takes" in note) != reached
    if reached:
        return
    needed = int(re.findall(r"it takes (\d+) trainings", note)[0])
    assert (needed + 1.0) ** -participants <= 0.05 < float(needed) ** -participants
    assert "trainings" not in limits_note(participants, needed, 0.05, "permutations", 1000)


@pytest.mark.slow
def test_nine_trainings_find_effects_about_as_often_as_one_for_each_null_map() -> None:
    found = []
    for group in range(150):
        rng = np.random.default_rng([5, group])
        noise = 3 * ndimage.gaussian_filter1d(rng.normal(0, 1, (8, 200, 20)), 1.0, truncate=2.0)
        maps = CHANCE + noise
        maps[:, 0, 8:13] += 1.7
        asked: dict[str, Any] = {"chance": CHANCE, "settings": GroupSettings()}
        each = group_statistics(maps[:, 0], list(maps[:, 1:]), **asked)
        nine = group_statistics(maps[:, 0], list(maps[:, 1:10]), draws=199, seed=seed(group), **asked)
        found.append((each.significant.any(), nine.significant.any()))
    of_each, of_nine = np.mean(found, axis=0)
    assert 0.3 < of_each < 0.95
    assert abs(of_each - of_nine) < 0.08


def test_few_participants_are_said() -> None:
    note = limits_note(1, 1000, 0.05, "permutations")
    assert "other people" in note
    assert note.count(".") == 1
    assert "permutation" in limits_note(1, 10, 0.05, "sign-flips")
    assert "participants," not in limits_note(1, 10, 0.05, "sign-flips")
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


@pytest.mark.parametrize(
    ("null", "participants", "count", "reaches"),
    [
        *(("permutations", 10, count, count == 19) for count in (18, 19)),
        *(("sign-flips", participants, 200, participants == 6) for participants in (5, 6)),
    ],
)
def test_what_the_note_says_is_so(null: str, participants: int, count: int, reaches: bool) -> None:
    rng = np.random.default_rng(8)
    scores = rng.normal(80, 1, (participants, 4))
    permuted = [rng.normal(50, 1, (count, 4)) for _ in range(participants)]
    result = group_statistics(scores, permuted, chance=50, settings=GroupSettings(null=null))
    assert result.significant.any() == (result.p_max.min() <= 0.05) == (result.note == "") == reaches
