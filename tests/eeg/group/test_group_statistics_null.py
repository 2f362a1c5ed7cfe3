"""Null distributions and p values equal a plain loop with SciPy, and MNE's exact enumeration; noise is
significant as often as alpha says."""

from __future__ import annotations

import mne
import numpy as np
import pytest
from mne.stats.cluster_level import _find_clusters
from scipy import ndimage, stats

import shortloop.eeg.group.statistics as room
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics

CHANCE = 100 / 3
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


def test_random_sign_flips_approach_all_of_them() -> None:
    observed, _ = scores(10, 1, (6, 6), 11)
    flips = GroupSettings(null="sign-flips")
    everything = group_statistics(observed, [np.zeros((1023, 6, 6))] * 10, chance=CHANCE, settings=flips)
    some = group_statistics(
        observed, [np.zeros((900, 6, 6))] * 10, chance=CHANCE, settings=flips, seed=np.random.SeedSequence(2)
    )
    assert len(everything.null_max) == 1024
    assert len(some.null_max) == 900
    assert some.p_max.min() >= 1 / 901
    np.testing.assert_allclose(some.p_max, everything.p_max, atol=4 * 0.5 / np.sqrt(900))
    assert set(np.round(some.null_max, 9)) <= set(np.round(everything.null_max, 9))


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
