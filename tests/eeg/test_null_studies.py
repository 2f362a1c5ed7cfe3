"""Studies of pure noise, from recordings to corrected statistics, are significant as often as alpha says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shortloop.eeg.decoding.apply import apply_weights, stack_weights
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
from shortloop.eeg.decoding.generalize import retrained_scores
from shortloop.eeg.decoding.metrics.scores import cross_validated_votes, recall_scores
from shortloop.eeg.decoding.permute import permuted_labels
from shortloop.eeg.decoding.selection.folds import stratified_folds
from shortloop.eeg.decoding.settings import DecodingSettings
from shortloop.eeg.decoding.train import train_bin
from shortloop.eeg.features.amplitude import amplitude_features
from shortloop.eeg.features.settings import AmplitudeSettings
from shortloop.eeg.formats.simulated import SimulatedInput
from shortloop.eeg.group.settings import GroupSettings
from shortloop.eeg.group.statistics import group_statistics

STUDIES, PARTICIPANTS, PERMUTATIONS = 200, 8, 199
CLASSES = ("face", "landmark", "object")
RECORDING = SimulatedInput(
    format="simulated", trials=12, channels=6, sfreq=64.0, tmin=-0.25, tmax=0.75, delay=0.1, strength=0.0
)
FEATURES = AmplitudeSettings(lowpass=20.0, start=0.0, bins=6, bin_samples=5)
DECODING = DecodingSettings(folds=6, select_alpha=0.2)
ESTIMATOR = LinearSvmSettings()
GROUP = GroupSettings()


def participant_maps(name: str, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Scores of one participant, and under each permutation: the cross-validated curve and the plane."""
    recordings = {
        phase: amplitude_features(
            RECORDING.generate(participant=name, phase=phase, classes=CLASSES, seed=seed, training=training),
            FEATURES,
        )
        for phase, training in (("study", True), ("test", False))
    }
    train, test = recordings["study"], recordings["test"]
    folds = stratified_folds(train.labels, DECODING.folds, seed)
    models = [
        train_bin(x, train.labels, folds, n_classes=3, decoding=DECODING, estimator=ESTIMATOR)
        for x in train.data
    ]
    stacked = stack_weights(np.stack([m.weights for m in models]))
    intercepts = np.stack([m.intercepts for m in models])
    has_model = np.stack([m.kept.any(axis=1) for m in models])
    votes = [
        cross_validated_votes(np.stack([m.predicted for m in models]), 3),
        np.stack(
            [apply_weights(x, stacked, intercepts, has_model, scaling=DECODING.scaling) for x in test.data]
        ),
    ]
    shuffled = [
        permuted_labels(train.labels, PERMUTATIONS, seed=seed, names=(name, "study"), folds=folds),
        permuted_labels(test.labels, PERMUTATIONS, seed=seed, names=(name, "test")),
    ]
    truth = [train.labels, test.labels]
    observed = [recall_scores(v, labels[np.newaxis])[0] for v, labels in zip(votes, truth)]
    return observed, [recall_scores(v, labels) for v, labels in zip(votes, shuffled)]


def smallest_p(study: int) -> list[float]:
    """Of the curve and of the plane: the smallest p of the maximum statistic, and of clusters."""
    maps = [participant_maps(f"S{number:02d}", study) for number in range(PARTICIPANTS)]
    found = []
    for kind in range(2):
        result = group_statistics(
            np.stack([observed[kind] for observed, _ in maps]),
            [permuted[kind] for _, permuted in maps],
            chance=100 / 3,
            settings=GROUP,
        )
        found += [float(result.p_max.min()), float(result.p_cluster.min())]
    return found


@pytest.mark.slow
def test_family_wise_error_rate_of_whole_studies() -> None:
    p = np.array([smallest_p(study) for study in range(STUDIES)])
    significant = (p <= GROUP.alpha).sum(axis=0)
    low, high = stats.binom.ppf([0.005, 0.995], STUDIES, GROUP.alpha)
    names = ("curve, maximum", "curve, cluster", "plane, maximum", "plane, cluster")
    rates = ", ".join(f"{name}: {count} of {STUDIES}" for name, count in zip(names, significant))
    assert ((significant >= low) & (significant <= high)).all(), f"{rates}; expected {low:g} to {high:g}"


def smallest_p_of_one(seed: int, permutations: int) -> list[float]:
    """Of one participant's curve, everything trained again on each permutation's labels."""
    recording = RECORDING.generate(
        participant="S01", phase="study", classes=CLASSES, seed=seed, training=True
    )
    train = amplitude_features(recording, FEATURES)
    folds = stratified_folds(train.labels, DECODING.folds, seed)
    shuffled = permuted_labels(train.labels, permutations, seed=seed, names=("S01", "study"), folds=folds)
    scores = np.stack(
        [
            retrained_scores(
                train.data,
                labels,
                folds,
                None,
                labels,
                within=False,
                n_classes=3,
                decoding=DECODING,
                estimator=ESTIMATOR,
            )[0]
            for labels in (train.labels, *shuffled)
        ]
    )
    result = group_statistics(scores[:1], [scores[1:]], chance=100 / 3, settings=GROUP)
    return [float(result.p_max.min()), float(result.p_cluster.min())]


@pytest.mark.slow
def test_error_rate_of_one_participant_trained_again() -> None:
    # Cross-validated scores of noise vary more than re-tallied votes do, as folds share their training
    # trials: one participant's curve needs the null that trains again (Noirhomme et al. 2014, NeuroImage
    # Clin. 4:687). Over participants, t is a ratio to that very variation.
    p = np.array([smallest_p_of_one(seed, 39) for seed in range(150)])
    significant = (p <= GROUP.alpha).sum(axis=0)
    low, high = stats.binom.ppf([0.005, 0.995], len(p), GROUP.alpha)
    assert significant[0] >= low
    assert (significant <= high).all(), f"{significant} of {len(p)}; expected {low:g} to {high:g}"
