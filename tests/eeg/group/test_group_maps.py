"""t, z, smoothing and clusters equal SciPy's, MNE's or plain loops; sign flips are all or fair ones."""

from __future__ import annotations

import itertools
import math
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mne.stats.cluster_level import _find_clusters
from scipy import ndimage, stats

import shortloop.eeg.group.statistics as room
from shortloop.eeg.group.maps import TRUE, draw_rows, leave_one_out_z, one_sample_t, sign_flips
from shortloop.eeg.group.settings import GroupSettings, limits_note
from shortloop.eeg.group.statistics import group_statistics, label_clusters, max_cluster_mass

shapes = st.one_of(st.tuples(st.integers(1, 9)), st.tuples(st.integers(1, 5), st.integers(1, 5)))


@settings(max_examples=40, deadline=None)
@given(participants=st.integers(2, 20), shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_t_equals_scipy(participants: int, shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    deviations = rng.normal(rng.normal(0, 5, shape), 4, (participants, *shape))
    expected = stats.ttest_1samp(deviations, 0.0, axis=0).statistic
    varies = deviations.std(axis=0, ddof=1) > 1e-3
    np.testing.assert_allclose(one_sample_t(deviations)[varies], expected[varies], rtol=1e-10)


@pytest.mark.parametrize("participants", [2, 3, 7, 18])
def test_cells_without_variance(participants: int) -> None:
    # chance; chance but for rounding; a little above; far above; far below; about the same for everybody
    levels = np.array([0.0, 7e-15, 2 / 3, 200 / 3, -100 / 3])
    t = one_sample_t(np.repeat(levels[np.newaxis], participants, axis=0))
    assert t[0] == t[1] == 0
    assert np.isfinite(t).all()
    assert t[4] < 0 < t[2] < t[3]
    rounded = np.repeat(levels[np.newaxis], participants, axis=0)
    rounded[::2] *= 1 + 1e-15
    np.testing.assert_allclose(one_sample_t(rounded), t, rtol=1e-12, atol=1e-9)
    agree = np.full(8, 20.0)
    nearly = agree + np.array([1, -1] * 4) * 0.05
    t = one_sample_t(np.stack([agree, nearly], axis=1))
    assert t[0] > t[1] == pytest.approx(stats.ttest_1samp(nearly, 0.0).statistic)


@settings(max_examples=30, deadline=None)
@given(count=st.integers(3, 12), shape=shapes, seed=st.integers(0, 2**32 - 1))
def test_z_leaves_one_out(count: int, shape: tuple[int, ...], seed: int) -> None:
    maps = np.random.default_rng(seed).normal(33, 4, (count, *shape))
    z = leave_one_out_z(maps)
    for index in range(count):
        others = np.delete(maps, index, axis=0)
        sd = others.std(axis=0, ddof=1)
        wide = sd > 0.01
        expected = (maps[index] - others.mean(axis=0)) / sd
        np.testing.assert_allclose(z[index][wide], expected[wide], rtol=1e-6)


def test_z_of_cells_where_the_others_do_not_vary_or_are_too_few() -> None:
    maps = np.full((5, 3), 100 / 3)
    maps[0, 1] = 90.0  # only one map differs: the others give no scale to measure it with
    maps[:2, 2] = [90.0, 60.0]
    z = leave_one_out_z(maps)
    np.testing.assert_array_equal(z[:, 0], 0)
    assert z[0, 1] == 0
    assert (z[1:, 1] < 0).all()
    assert (z[:2, 2] > 0).all()
    np.testing.assert_array_equal(leave_one_out_z(np.array([[1.0], [2.0]])), [[0], [0]])


def written_out(curve: np.ndarray, sigma: float, truncate: float) -> np.ndarray:
    radius = math.floor(truncate * sigma + 0.5)
    weights = [math.exp(-0.5 * (k / sigma) ** 2) for k in range(-radius, radius + 1)]
    out = []
    for centre in range(len(curve)):
        bins = [min(max(centre + k, 0), len(curve) - 1) for k in range(-radius, radius + 1)]
        out.append(sum(w * curve[b] for w, b in zip(weights, bins)) / sum(weights))
    return np.array(out)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    sigma=st.floats(0.05, 4),
    truncate=st.floats(0.5, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_smoothing_as_a_loop(shape: tuple[int, int], sigma: float, truncate: float, seed: int) -> None:
    plane = np.random.default_rng(seed).normal(33, 10, shape)
    along_train = np.array([written_out(row, sigma, truncate) for row in plane])
    both = np.array([written_out(row, sigma, truncate) for row in along_train.T]).T
    asked = GroupSettings(smooth=sigma, truncate=truncate)
    for one, expected in ((plane[0], along_train[0]), (plane, both)):
        found = group_statistics(one[np.newaxis], [one[np.newaxis]], chance=33.0, settings=asked)
        np.testing.assert_allclose(found.mean, expected, rtol=1e-12)


@pytest.mark.parametrize(("participants", "count"), [(1, 1), (3, 7), (5, 1000), (10, 1023)])
def test_all_patterns_once_observed_first(participants: int, count: int) -> None:
    signs, exact = sign_flips(participants, count)
    assert exact
    assert signs.shape == (2**participants, participants)
    assert (signs[0] == 1).all()
    assert {tuple(row) for row in signs} == set(product([-1.0, 1.0], repeat=participants))


@pytest.mark.parametrize(("participants", "count"), [(3, 6), (10, 1022), (62, 50), (200, 50)])
def test_random_patterns_where_all_are_too_many(participants: int, count: int) -> None:
    signs, exact = sign_flips(participants, count, np.random.SeedSequence(4))
    assert not exact
    assert signs.shape == (count, participants)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    again, _ = sign_flips(participants, count, np.random.SeedSequence(4))
    other, _ = sign_flips(participants, count, np.random.SeedSequence(5))
    np.testing.assert_array_equal(signs, again)
    assert (signs != other).any()


def test_random_signs_are_fair_and_independent_and_need_a_seed() -> None:
    signs, _ = sign_flips(20, 5000, np.random.SeedSequence(6))
    assert stats.binomtest(int((signs == 1).sum()), signs.size).pvalue > 1e-3
    assert np.abs(np.asarray(np.corrcoef(signs.T))[np.triu_indices(20, 1)]).max() < 5 / np.sqrt(5000)
    with pytest.raises(ValueError, match="seed"):
        sign_flips(18, 1000)


def cells_of(mask: np.ndarray) -> frozenset[tuple[int, ...]]:
    return frozenset(tuple(map(int, cell)) for cell in np.argwhere(mask))


def found(t: np.ndarray, threshold: float) -> dict[frozenset[tuple[int, ...]], float]:
    labels, masses = label_clusters(t, threshold)
    return {
        cells_of(labels == label): np.sign(label) * masses[label] for label in np.unique(labels[labels != 0])
    }


shapes_of_clusters = st.one_of(st.tuples(st.integers(1, 25)), st.tuples(st.integers(1, 8), st.integers(1, 8)))


@settings(max_examples=60, deadline=None)
@given(
    shape=shapes_of_clusters, threshold=st.floats(0.1, 2), seed=st.integers(0, 2**32 - 1), whole=st.booleans()
)
def test_clusters_equal_mne(shape: tuple[int, ...], threshold: float, seed: int, whole: bool) -> None:
    t_maps = np.random.default_rng(seed).normal(0, 1.5, (4, *shape))
    if whole:  # many cells exactly at the threshold, which do not pass it
        t_maps, threshold = np.round(t_maps), 1.0
    for t, mass in zip(t_maps, max_cluster_mass(t_maps, threshold)):
        expected = {}
        for mask, of_mask in zip(*_find_clusters(t, threshold, tail=0)):
            inside = np.zeros(t.size, dtype=bool)
            inside[mask] = True  # slices of a curve, flat masks of a plane
            expected[cells_of(inside.reshape(shape))] = of_mask
        assert found(t, threshold) == pytest.approx(expected)
        assert mass == pytest.approx(max(map(abs, expected.values()), default=0.0))


def test_clusters_are_numbered_from_the_heaviest_on() -> None:
    labels, masses = label_clusters(np.array([3.0, 0, 9, 0, 5, 0, -3, 0, -7]), 2.0)
    np.testing.assert_array_equal(labels, [3, 0, 1, 0, 2, 0, -2, 0, -1])
    np.testing.assert_array_equal(masses[labels], [3, 0, 9, 0, 5, 0, 3, 0, 7])


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
        assert stats.chisquare(np.bincount(5 * rows[:, one] + rows[:, other], minlength=25)).pvalue > 0.001
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
        maps = np.random.default_rng([7, group]).exponential(4.0, (6, 1 + others, 4)) + CHANCE - 4.0
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


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001, 0.1, 1 / 3, 0.02])
def test_the_permutations_it_takes_are_just_enough(alpha: float) -> None:
    needed = int(re.findall(r"it takes (\d+) permutations", limits_note(18, 1, alpha, "permutations"))[0])
    assert 1 / (needed + 1) <= alpha < 1 / needed
    assert limits_note(18, needed, alpha, "permutations") == ""
    assert limits_note(18, needed - 1, alpha, "permutations") != ""


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.125, 0.001])
def test_the_participants_flips_take_are_just_enough(alpha: float) -> None:
    needed = int(re.findall(r"it takes (\d+) participants", limits_note(2, 10**6, alpha, "sign-flips"))[0])
    assert 2 / 2**needed <= alpha < 4 / 2**needed
