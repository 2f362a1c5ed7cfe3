"""What the group stage finds: effects where they are, the same for any order, nothing where nothing is."""

from __future__ import annotations

import mne
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mne.stats.cluster_level import _find_clusters
from scipy import ndimage, stats

import shortloop.eeg.group.statistics as room
from shortloop.eeg.decoding.metrics.scores import accuracy_scores
from shortloop.eeg.group import maps as level_maps
from shortloop.eeg.group.maps import own_level
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics

CHANCE = 100 / 3
PLAIN = GroupSettings(smooth=0)


def noise(
    participants: int, count: int, shape: tuple[int, ...], seed: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    maps = np.random.default_rng(seed).normal(CHANCE, 3, (participants, count + 1, *shape))
    return maps[:, 0], list(maps[:, 1:])


shapes = st.one_of(st.tuples(st.integers(1, 12)), st.tuples(st.integers(1, 5), st.integers(1, 5)))


@settings(max_examples=30, deadline=None)
@given(
    participants=st.integers(1, 7),
    count=st.integers(1, 12),
    shape=shapes,
    levels=st.sampled_from([1, 2, 4, 1000]),
    null=st.sampled_from(["permutations", "sign-flips"]),
    smooth=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_maps_give_sound_numbers(
    participants: int, count: int, shape: tuple[int, ...], levels: int, null: str, smooth: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # Few levels: cells without variance, ties, whole maps at chance.
    maps = CHANCE + rng.integers(0, levels, (participants, count + 1, *shape)) * 60 / levels
    observed, permuted = maps[:, 0], list(maps[:, 1:])
    asked = GroupSettings(null=null, smooth=smooth)
    seeds = np.random.SeedSequence(0)
    result = group_statistics(observed, permuted, chance=CHANCE, settings=asked, seed=seeds)
    for name in ("mean", "t", "p_max", "p_cluster", "clusters", "significant"):
        assert getattr(result, name).shape == shape
        assert np.isfinite(getattr(result, name)).all()
    draws = len(result.null_max)
    exact = null == "sign-flips" and participants > 1 and 2**participants <= count + 1
    assert draws == (2**participants if exact else count)
    assert np.isfinite(result.null_max).all()
    assert np.isfinite(result.null_mass).all()
    for p in (result.p_max, result.p_cluster):
        assert p.max() <= 1
        assert p.min() >= (2 / draws if exact else 1 / (draws + 1))
    assert (result.p_cluster[result.clusters == 0] == 1).all()
    passes = np.abs(result.t) > result.threshold
    np.testing.assert_array_equal(np.sign(result.clusters), np.where(passes, np.sign(result.t), 0))
    strongest_first = np.argsort(-np.abs(result.t), axis=None)
    assert (np.diff(result.p_max.ravel()[strongest_first]) >= 0).all()
    mirrored = group_statistics(
        2 * CHANCE - observed, [2 * CHANCE - m for m in permuted], chance=CHANCE, settings=asked, seed=seeds
    )
    np.testing.assert_allclose(mirrored.t, -result.t, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(mirrored.p_max, result.p_max)


@pytest.mark.parametrize("null", ["permutations", "sign-flips"])
def test_order_of_participants_does_not_matter(null: str) -> None:
    rng = np.random.default_rng(3)
    # Scores of few trials: flips and permutations with equal statistics on paper abound.
    maps = 100 * rng.integers(2, 9, (6, 80, 5, 5)) / 15
    asked = GroupSettings(null=null)
    first = group_statistics(maps[:, 0], list(maps[:, 1:]), chance=CHANCE, settings=asked)
    for _ in range(5):
        order = rng.permutation(6)
        again = group_statistics(maps[order, 0], list(maps[order, 1:]), chance=CHANCE, settings=asked)
        np.testing.assert_allclose(again.t, first.t, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(again.p_max, first.p_max)
        np.testing.assert_array_equal(again.p_cluster, first.p_cluster)


def test_what_is_equal_on_paper_counts_as_equal() -> None:
    rng = np.random.default_rng(10)
    observed = rng.normal(CHANCE + 5, 4, (11, 6, 6))
    # Every permutation gives each participant somebody's observed map: the same t, summed in another order.
    orders = np.stack([rng.permutation(11) for _ in range(50)])
    permuted = [observed[orders[:, index]] for index in range(11)]
    result = group_statistics(observed, permuted, chance=CHANCE, settings=GroupSettings())
    assert len(set(result.null_max)) > 1  # rounding did make them differ
    assert result.p_max.min() == 1
    assert result.clusters.any()
    assert result.p_cluster.min() == 1


@pytest.mark.parametrize("null", ["permutations", "sign-flips"])
def test_one_participant_is_scored_in_the_own_permutations(null: str) -> None:
    observed, permuted = noise(1, 300, (10, 10), 4)
    observed[0, 2:6, 2:6] += 15
    result = group_statistics(observed, permuted, chance=CHANCE, settings=GroupSettings(null=null))

    def smooth(m: np.ndarray) -> np.ndarray:
        return ndimage.gaussian_filter(m, 1.0, mode="nearest", truncate=2.0)

    own = np.stack([smooth(m) for m in permuted[0]])
    np.testing.assert_allclose(result.t, (smooth(observed[0]) - own.mean(axis=0)) / own.std(axis=0, ddof=1))
    np.testing.assert_allclose(result.mean, smooth(observed[0]))
    assert result.level == "participant"
    assert "other people" in result.note
    assert result.threshold == pytest.approx(stats.norm.ppf(0.975))
    assert len(result.null_max) == len(result.null_mass) == 300
    assert result.significant[2:6, 2:6].all()
    assert not result.significant[9].any()
    assert not result.significant[:, 9].any()


def test_null_maps_without_variance_count_as_extreme_as_they_are() -> None:
    observed, permuted = noise(6, 19, (8,), 6)
    observed += 10
    before = group_statistics(observed, permuted, chance=CHANCE, settings=PLAIN)
    for maps in permuted:
        maps[7, 2] = 90.0  # in this permutation everybody scores the same
    after = group_statistics(observed, permuted, chance=CHANCE, settings=PLAIN)
    assert np.isfinite(after.null_mass).all()
    assert after.null_max[7] > 1000
    assert before.p_max.min() == 1 / 20
    assert after.p_max.min() == 2 / 20


@pytest.mark.parametrize("null", ["permutations", "sign-flips"])
@pytest.mark.parametrize("rounding", [0.0, 7e-15])
def test_everything_at_chance_is_not_significant(null: str, rounding: float) -> None:
    observed = np.full((6, 4, 4), CHANCE + rounding)
    permuted = [np.full((70, 4, 4), CHANCE)] * 6
    result = group_statistics(observed, permuted, chance=CHANCE, settings=GroupSettings(null=null))
    assert (result.t == 0).all()
    assert (result.p_max == 1).all()
    assert not result.significant.any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("participants", [1, 4])
@pytest.mark.parametrize("where", ["observed", "permuted"])
def test_scores_that_are_not_finite_are_refused(bad: float, participants: int, where: str) -> None:
    observed, permuted = noise(participants, 5, (4, 4), 8)
    if where == "observed":
        observed[-1, 2, 2] = bad
    else:
        permuted[-1][3, 2, 2] = bad
    with pytest.raises(ValueError, match=f"{where}.*not finite"):
        group_statistics(observed, permuted, chance=CHANCE, settings=GroupSettings())


def test_shapes_that_do_not_fit_are_refused() -> None:
    observed, permuted = noise(3, 5, (4, 4), 9)
    flips = GroupSettings(null="sign-flips")
    with pytest.raises(ValueError, match="2 participants"):
        group_statistics(observed, permuted[:2], chance=CHANCE, settings=PLAIN)
    with pytest.raises(ValueError, match="participant 2"):
        group_statistics(observed, [*permuted[:2], permuted[2][:4]], chance=CHANCE, settings=PLAIN)
    with pytest.raises(ValueError, match="participant 0"):
        group_statistics(observed, [m[:, :3] for m in permuted], chance=CHANCE, settings=PLAIN)
    with pytest.raises(ValueError, match="permutations"):
        group_statistics(observed, [m[:0] for m in permuted], chance=CHANCE, settings=PLAIN)
    for empty in (observed[:0], observed[:, :0], observed[0, 0]):
        with pytest.raises(ValueError, match="curves or planes"):
            group_statistics(empty, permuted, chance=CHANCE, settings=PLAIN)
    with pytest.raises(ValueError, match="seed"):
        group_statistics(observed, [m[:3] for m in permuted], chance=CHANCE, settings=flips)


def test_the_mean_of_all_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    maps = np.random.default_rng(0).normal(50, 5, (40, 3, 4))
    whole = own_level(maps[0], maps[1:])
    np.testing.assert_allclose(whole, maps.mean(axis=0))
    monkeypatch.setattr(level_maps, "VALUES_AT_ONCE", 30)
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
    less = [maps - level for maps, level in zip(permuted, levels)]
    plain = group_statistics(observed - levels, less, chance=0.0, settings=asked, seed=flips)
    np.testing.assert_allclose(found.t, plain.t, rtol=1e-9)
    np.testing.assert_array_equal(found.p_cluster, plain.p_cluster)
    assert found.expected is not None
    np.testing.assert_allclose(found.expected, levels.mean(axis=0))
    np.testing.assert_allclose(found.mean - found.expected, plain.mean, atol=1e-9)
    assert found.chance == pytest.approx(levels.mean())
    np.testing.assert_array_equal(found.level_of_chance, found.expected)


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
    assert found.expected is None  # one level for all needs no map of it
    np.testing.assert_array_equal(found.level_of_chance, np.full(6, 0.5))


SHAPES = [(15,), (7, 9)]


def scores(
    participants: int, count: int, shape: tuple[int, ...], seed: int
) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    observed = rng.normal(CHANCE, 4, (participants, *shape))
    observed[(slice(None), *[slice(2, 5)] * len(shape))] += 6
    observed[(slice(None), *[slice(-2, None)] * len(shape))] -= 5
    return observed, [rng.normal(CHANCE, 4, (count, *shape)) for _ in range(participants)]


def smoothed(maps: np.ndarray) -> np.ndarray:
    return np.stack([ndimage.gaussian_filter(m, 1.0, mode="nearest", truncate=2.0) for m in maps])


def largest_and_heaviest(t: np.ndarray, threshold: float) -> tuple[float, float]:
    _, masses = _find_clusters(t, threshold, tail=0)
    return float(np.abs(t).max()), float(np.abs(masses).max()) if len(masses) else 0.0


@pytest.mark.parametrize("shape", SHAPES)
def test_permutations_equal_a_plain_loop(shape: tuple[int, ...]) -> None:
    observed, permuted = scores(8, 60, shape, 1)
    result = group_statistics(observed, permuted, chance=CHANCE, settings=GroupSettings())
    t = stats.ttest_1samp(smoothed(observed), CHANCE).statistic
    threshold = stats.t.ppf(0.975, 7)
    null = [
        largest_and_heaviest(
            stats.ttest_1samp(smoothed(np.stack([maps[p] for maps in permuted])), CHANCE).statistic, threshold
        )
        for p in range(60)
    ]
    np.testing.assert_array_equal(result.scores, observed)
    np.testing.assert_allclose(result.mean, smoothed(observed).mean(axis=0))
    np.testing.assert_allclose(result.t, t, rtol=1e-9, atol=1e-11)
    assert result.threshold == pytest.approx(threshold)
    np.testing.assert_allclose(result.null_max, [largest for largest, _ in null], rtol=1e-9)
    np.testing.assert_allclose(result.null_mass, [heaviest for _, heaviest in null], rtol=1e-9)
    p_max = (1 + (np.array([n[0] for n in null]) >= np.abs(t)[..., np.newaxis]).sum(axis=-1)) / 61
    np.testing.assert_array_equal(result.p_max, p_max)
    labelled = set(np.unique(result.clusters)) - {0}
    assert len(labelled) > 1
    for label in labelled:
        inside = result.clusters == label
        p = (1 + sum(heaviest >= np.abs(t[inside]).sum() for _, heaviest in null)) / 61
        np.testing.assert_allclose(result.p_cluster[inside], p)
    assert (result.p_cluster[result.clusters == 0] == 1).all()
    np.testing.assert_array_equal(result.clusters != 0, np.abs(t) > threshold)
    np.testing.assert_array_equal(result.significant, result.p_cluster <= 0.05)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("participants", [5, 7])
def test_all_sign_flips_equal_mne(shape: tuple[int, ...], participants: int) -> None:
    observed, permuted = scores(participants, 200, shape, participants)
    result = group_statistics(observed, permuted, chance=CHANCE, settings=GroupSettings(null="sign-flips"))
    deviations = smoothed(observed) - CHANCE
    assert len(result.null_max) == 2**participants
    t, p_max, _ = mne.stats.permutation_t_test(
        deviations.reshape(participants, -1), n_permutations=10_000, tail=0, verbose="error"
    )
    np.testing.assert_allclose(result.t.ravel(), t, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(result.p_max.ravel(), p_max, rtol=1e-12)
    _, clusters, p_cluster, _ = mne.stats.permutation_cluster_1samp_test(
        deviations,
        threshold=result.threshold,
        n_permutations=10_000,  # more than there are: all of them ("all" leaves one out in MNE 1.13)
        tail=0,
        out_type="mask",
        buffer_size=None,
        verbose="error",
    )
    expected = np.ones(shape)
    for cells, p in zip(clusters, p_cluster):
        expected[cells] = p
    assert len(clusters) > 1
    np.testing.assert_allclose(result.p_cluster, expected, rtol=1e-12)


@pytest.mark.parametrize("null", ["permutations", "sign-flips"])
def test_pieces_do_not_show(null: str, monkeypatch: pytest.MonkeyPatch) -> None:
    observed, permuted = scores(9, 40, (5, 6), 12)
    asked = GroupSettings(null=null)
    seed = np.random.SeedSequence(3)
    whole = group_statistics(observed, permuted, chance=CHANCE, settings=asked, seed=seed)
    for values in (1, 9 * 30 * 7):
        monkeypatch.setattr(room, "VALUES_AT_ONCE", values)
        pieces = group_statistics(observed, permuted, chance=CHANCE, settings=asked, seed=seed)
        np.testing.assert_allclose(pieces.null_max, whole.null_max, rtol=1e-12)
        np.testing.assert_allclose(pieces.null_mass, whole.null_mass, rtol=1e-12)
        np.testing.assert_array_equal(pieces.p_max, whole.p_max)
        np.testing.assert_array_equal(pieces.p_cluster, whole.p_cluster)


GROUPS, PERMUTATIONS, TRIALS, CLASSES, SIDE = 200, 39, 30, 3, 6


def shuffled_scores(rng: np.random.Generator) -> np.ndarray:
    """One participant's scores under the true labels and every shuffle; predictions are correlated noise."""
    noise = rng.normal(size=(CLASSES, TRIALS, SIDE, SIDE))
    predicted = ndimage.gaussian_filter(noise, 1.0, axes=(2, 3)).argmax(axis=0).reshape(TRIALS, -1)
    labels = np.repeat(np.arange(CLASSES), TRIALS // CLASSES)
    all_labels = np.stack([labels, *(rng.permutation(labels) for _ in range(PERMUTATIONS))])
    hits = sum((all_labels == c).astype(float) @ (predicted == c).astype(float) for c in range(CLASSES))
    return 100 * np.asarray(hits).reshape(-1, SIDE, SIDE) / TRIALS


@pytest.mark.parametrize(
    ("participants", "null"),
    [
        (6, "permutations"),
        (1, "permutations"),
        pytest.param(9, "sign-flips", marks=pytest.mark.slow),
        pytest.param(2, "permutations", marks=pytest.mark.slow),
    ],
)
def test_family_wise_error_rate(participants: int, null: str) -> None:
    asked = GroupSettings(null=null)
    smallest = []
    for group, seed in enumerate(np.random.SeedSequence(20).spawn(GROUPS)):
        draws, flips = seed.spawn(2)
        rng = np.random.default_rng(draws)
        maps = [shuffled_scores(rng) for _ in range(participants)]
        observed = np.stack([m[0] for m in maps])
        result = group_statistics(observed, [m[1:] for m in maps], chance=100 / 3, settings=asked, seed=flips)
        assert result.significant.any() == (result.p_cluster.min() <= 0.05), group
        smallest.append((result.p_max.min(), result.p_cluster.min()))
    p_max, p_cluster = np.array(smallest).T
    for alpha in (0.05, 0.2, 0.5):
        low, high = stats.binom.ppf([0.0005, 0.9995], GROUPS, alpha)
        assert low <= (p_max <= alpha).sum() <= high
        # Maps without any cluster tie at p = 1, so clusters may come less often, never more often.
        assert (p_cluster <= alpha).sum() <= high
    assert (p_cluster <= 0.2).any()


LABELS = np.repeat([0, 1, 2], (24, 4, 2))


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


@pytest.mark.slow
def test_error_rate_of_accuracy_with_classes_of_different_size() -> None:
    smallest = []
    for group in range(150):
        rng = np.random.default_rng([4, group])
        maps = np.stack([accuracies(uninformed(rng), rng, 39) for _ in range(6)])
        observed, permuted = maps[:, 0], list(maps[:, 1:])
        levels = np.stack([own_level(*each) for each in zip(observed, permuted)])
        smallest.append(group_statistics(observed, permuted, chance=levels, settings=PLAIN).p_max.min())
    low, high = stats.binom.ppf([0.001, 0.999], 150, 0.1)
    assert low <= (np.array(smallest) <= 0.1).sum() <= high
