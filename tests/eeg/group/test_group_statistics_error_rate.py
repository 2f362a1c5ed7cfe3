"""On pure noise, significance comes as often as it says, for classifiers that know nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage, stats

from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics

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
    [(6, "permutations"), (9, "sign-flips"), (2, "permutations"), (1, "permutations")],
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
