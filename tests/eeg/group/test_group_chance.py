"""Where chance is no number that is known, each participant's own null says what it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shortloop.eeg.decoding.metrics.scores import accuracy_scores
from shortloop.eeg.group import maps as room
from shortloop.eeg.group.maps import own_level
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics

PLAIN = GroupSettings(smooth=0)
SIZES = (24, 4, 2)


def test_the_mean_of_all_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    maps = rng.normal(50, 5, (40, 3, 4))
    whole = own_level(maps[0], maps[1:])
    np.testing.assert_allclose(whole, maps.mean(axis=0))
    monkeypatch.setattr(room, "VALUES_AT_ONCE", 30)
    np.testing.assert_allclose(own_level(maps[0], maps[1:]), whole)
    # Whichever of the maps is the observed one.
    np.testing.assert_allclose(own_level(maps[9], np.delete(maps, 9, axis=0)), whole)


@pytest.mark.parametrize("null", ["permutations", "sign-flips"])
@pytest.mark.parametrize("participants", [1, 7])
def test_a_level_for_each_cell_is_that_level_taken_off(participants: int, null: str) -> None:
    rng = np.random.default_rng(1)
    levels = rng.uniform(30, 80, (participants, 5, 6))
    observed = levels + rng.normal(1, 2, levels.shape)
    permuted = [level + rng.normal(0, 2, (60, 5, 6)) for level in levels]
    asked = GroupSettings(null=null)
    flips = np.random.SeedSequence(0)
    found = group_statistics(observed, permuted, chance=levels, settings=asked, seed=flips)
    plain = group_statistics(
        observed - levels,
        [maps - level for maps, level in zip(permuted, levels)],
        chance=0.0,
        settings=asked,
        seed=flips,
    )
    np.testing.assert_allclose(found.t, plain.t, rtol=1e-9)
    np.testing.assert_array_equal(found.p_cluster, plain.p_cluster)
    assert found.expected is not None
    np.testing.assert_allclose(found.expected, levels.mean(axis=0))
    np.testing.assert_allclose(found.mean - found.expected, plain.mean, atol=1e-9)
    assert found.chance == pytest.approx(levels.mean())
    np.testing.assert_array_equal(found.level_of_chance, found.expected)


def test_one_level_for_all_needs_no_map_of_it() -> None:
    rng = np.random.default_rng(2)
    found = group_statistics(
        rng.normal(0.5, 0.1, (5, 8)),
        [rng.normal(0.5, 0.1, (30, 8)) for _ in range(5)],
        chance=0.5,
        settings=PLAIN,
        score="auc",
    )
    assert found.expected is None
    np.testing.assert_array_equal(found.level_of_chance, np.full(8, 0.5))


@pytest.mark.parametrize("participants", [1, 8])
def test_scores_from_0_to_1_are_tested_as_those_in_percent(participants: int) -> None:
    # What counts as no variance is meant in percentage points, whatever the unit.
    rng = np.random.default_rng(3)
    observed = np.round(rng.normal(0.5, 0.0004, (participants, 6)), 4)
    permuted = [np.round(rng.normal(0.5, 0.0004, (50, 6)), 4) for _ in range(participants)]
    found = group_statistics(observed, permuted, chance=0.5, settings=PLAIN, score="auc")
    percent = group_statistics(100 * observed, [100 * m for m in permuted], chance=50.0, settings=PLAIN)
    np.testing.assert_allclose(found.t, percent.t, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.mean, percent.mean / 100, rtol=1e-12)
    np.testing.assert_array_equal(found.p_max, percent.p_max)


LABELS = np.repeat([0, 1, 2], SIZES)


def uninformed(rng: np.random.Generator) -> np.ndarray:
    """Votes that know nothing but how large classes are: some bins name the largest one nearly always."""
    lean = rng.uniform(0.2, 1.0, (9, 1))
    drawn = rng.random((9, len(LABELS)))
    predicted = np.where(drawn < lean, 0, np.where(drawn < (1 + lean) / 2, 1, 2))
    votes: np.ndarray = (predicted[..., np.newaxis] == np.arange(3)).astype(np.uint8)
    return votes


def accuracies(votes: np.ndarray, rng: np.random.Generator, permutations: int) -> np.ndarray:
    """Observed, then permuted."""
    return accuracy_scores(votes, np.stack([LABELS, *(rng.permutation(LABELS) for _ in range(permutations))]))


def test_error_rate_of_accuracy_with_classes_of_different_size() -> None:
    smallest = []
    for group in range(150):
        rng = np.random.default_rng([4, group])
        maps = np.stack([accuracies(uninformed(rng), rng, 39) for _ in range(6)])
        observed, permuted = maps[:, 0], list(maps[:, 1:])
        levels = np.stack([own_level(*each) for each in zip(observed, permuted)])
        result = group_statistics(observed, permuted, chance=levels, settings=PLAIN)
        smallest.append(result.p_max.min())
    low, high = stats.binom.ppf([0.001, 0.999], 150, 0.1)
    assert low <= (np.array(smallest) <= 0.1).sum() <= high
