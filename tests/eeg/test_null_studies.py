"""Studies of pure noise, from recordings to corrected statistics, are significant as often as alpha says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.level import ALPHA, CHANCE, CLASSES, CLASSIFIERS, FEATURES, RECORDING, studies_of, summary
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics

RECORDINGS, PERMUTATIONS = 20, 199
ASKED = CLASSIFIERS["SVM, selected features"]


@pytest.mark.slow
def test_family_wise_error_rate_of_whole_studies() -> None:
    found = summary([studies_of(number, PERMUTATIONS) for number in range(RECORDINGS)])
    for name, both in found["levels"].items():
        for statistic, level in both.items():
            half = (level["high"] - level["low"]) / 2  # of the 95 % interval
            assert abs(level["share"] - ALPHA) < 2 * half < 0.04, (name, statistic, level)
    # Under shuffled test labels, cross-validated scores vary less than those of what is trained again.
    for of_labels, of_test_labels in (each.values() for each in found["moments"].values()):
        assert of_labels["deviation"] > 1.15 * of_test_labels["deviation"]
        assert abs(of_labels["mean"]) < 0.2


def smallest_p_of_one(seed: int, permutations: int) -> list[float]:
    """Of one participant's curve, everything trained again on each permutation's labels."""
    recording = RECORDING.generate(
        participant="S01", phase="study", classes=CLASSES, seed=seed, training=True
    )
    train = amplitude_features(recording, FEATURES)
    folds = stratified_folds(train.labels, ASKED.decoding.folds, seed)
    shuffled = permuted_labels(train.labels, permutations, seed=seed, names=("S01", "study"), folds=folds)
    how: dict[str, Any] = {"n_classes": len(CLASSES), "within": False}
    how |= {"decoding": ASKED.decoding, "estimator": ASKED.estimator}
    every = (train.labels, *shuffled)
    scores = np.stack([retrained_scores(train.data, each, folds, None, each, **how)[0] for each in every])
    result = group_statistics(scores[:1], [scores[1:]], chance=CHANCE, settings=GroupSettings())
    return [float(result.p_max.min()), float(result.p_cluster.min())]


@pytest.mark.slow
def test_error_rate_of_one_participant_trained_again() -> None:
    # Cross-validated scores of noise vary more than re-tallied votes do, as folds share their training
    # trials: one participant's curve needs the null that trains again (Noirhomme et al. 2014, NeuroImage
    # Clin. 4:687). Over participants, t is a ratio to that very variation.
    p = np.array([smallest_p_of_one(seed, 39) for seed in range(150)])
    significant = (p <= ALPHA).sum(axis=0)
    low, high = stats.binom.ppf([0.005, 0.995], len(p), ALPHA)
    assert significant[0] >= low
    assert (significant <= high).all(), f"{significant} of {len(p)}; expected {low:g} to {high:g}"
