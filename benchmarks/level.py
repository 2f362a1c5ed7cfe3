"""How often studies of pure noise are significant, from recordings to corrected statistics, by each null."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d

from benchmarks.options import Options, cores
from shortloop.base.seeds import seed_for
from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.decoding.apply import apply_weights, stack_weights
from shortloop.eeg.decoding.estimators.estimator import EstimatorSettings
from shortloop.eeg.decoding.estimators.lda import LdaSettings
from shortloop.eeg.decoding.estimators.linear_svm import LinearSvmSettings
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

RECORDINGS, LABELLINGS, TURNS, PARTICIPANTS, PERMUTATIONS = 300, 10, 10, 8, 199
QUICK_RECORDINGS, QUICK_PERMUTATIONS = 2, 39
ALPHA = GroupSettings().alpha
FOLDS = 6
CLASSES = ("face", "landmark", "object")
CHANCE = 100 / len(CLASSES)
RECORDING = SimulatedInput(
    format="simulated", trials=12, channels=6, sfreq=64.0, tmin=-0.25, tmax=0.75, delay=0.1, strength=0.0
)
FEATURES = AmplitudeSettings(lowpass=20.0, start=0.0, bins=6, bin_samples=5)
TEST_LABELS, FLIPS = "shuffled test labels", "sign flips"
AGAIN = f"{LABELLINGS - 1} trainings on shuffled labels"
MOMENTS = ("labels trained on", TEST_LABELS)


@dataclass(frozen=True)
class Classifier:
    """What is trained.

    generalizes: whether it is applied to the other phase, too.
    """

    estimator: EstimatorSettings
    decoding: DecodingSettings
    generalizes: bool


CLASSIFIERS = {
    "SVM, selected features": Classifier(
        LinearSvmSettings(), DecodingSettings(folds=FOLDS, select_alpha=0.2, scaling="separate"), True
    ),
    "LDA, all features": Classifier(
        LdaSettings(), DecodingSettings(folds=FOLDS, select_alpha=1.0, scaling="separate"), False
    ),
}


@dataclass(frozen=True)
class Noise:
    """Features of one participant, of whom nothing can be decoded.

    train, test: float, (bins, trials, features). Of both phases.
    labels, test_labels: int, (1 + permutations, trials). Of both phases: as they were drawn, and shuffled
        ones. Noise has no labels: nothing tells them apart.
    folds: int, (trials,). Of the first phase.
    """

    train: FloatArray
    test: FloatArray
    labels: IntArray
    test_labels: IntArray
    folds: IntArray

    @classmethod
    def of(cls, name: str, seed: int, permutations: int) -> Noise:
        """Simulate a participant."""
        train, test = (
            amplitude_features(
                RECORDING.generate(
                    participant=name, phase=phase, classes=CLASSES, seed=seed, training=phase == "study"
                ),
                FEATURES,
            )
            for phase in ("study", "test")
        )
        folds = stratified_folds(train.labels, FOLDS, seed)
        shuffled = permuted_labels(train.labels, permutations, seed=seed, names=(name, "study"), folds=folds)
        others = permuted_labels(test.labels, permutations, seed=seed, names=(name, "test"))
        return cls(
            train.data,
            test.data,
            np.concatenate([train.labels[np.newaxis], shuffled]),
            np.concatenate([test.labels[np.newaxis], others]),
            folds,
        )

    def scores(self, asked: Classifier, labelling: int) -> dict[str, FloatArray]:
        """Scores of what is trained on one labelling, under all.

        returns: dict of str to array of float, (1 + permutations, \\*map). ``curve`` and, if it generalizes,
            ``plane``.
        """
        how: dict[str, Any] = {"decoding": asked.decoding, "estimator": asked.estimator}
        labels, n_classes = self.labels[labelling], len(CLASSES)
        models = [train_bin(x, labels, self.folds, n_classes=n_classes, **how) for x in self.train]
        votes = cross_validated_votes(np.stack([model.predicted for model in models]), n_classes)
        found = {"curve": recall_scores(votes, self.labels)}
        if asked.generalizes:
            stacked = stack_weights(np.stack([model.weights for model in models]))
            intercepts = np.stack([model.intercepts for model in models])
            has_model = np.stack([model.kept.any(axis=1) for model in models])
            scaling = asked.decoding.scaling
            of_bins = [apply_weights(x, stacked, intercepts, has_model, scaling=scaling) for x in self.test]
            found["plane"] = recall_scores(np.stack(of_bins), self.test_labels)
        return found


def studies_of(number: int, permutations: int) -> dict[str, dict[str, Any]]:
    """Test studies of the same recordings of noise: in each, other labellings are the true ones."""
    people = [Noise.of(f"S{person:02d}", number, permutations) for person in range(PARTICIPANTS)]
    return {name: p_values(people, asked, number) for name, asked in CLASSIFIERS.items()}


def p_values(people: Sequence[Noise], asked: Classifier, seed: int) -> dict[str, Any]:
    """Smallest corrected p values of each study, by the maximum statistic and by clusters."""
    scores = [[each.scores(asked, number) for number in range(LABELLINGS)] for each in people]
    trained = [np.stack([maps["curve"][row] for row, maps in enumerate(of)]) for of in scores]
    found: dict[str, Any] = {}
    for turn, true in itertools.product(range(TURNS), range(LABELLINGS)):
        # Two studies share the true labellings of half of the participants at most.
        rows = [(true + turn * who) % LABELLINGS for who in range(len(people))]
        maps = [of[row] for of, row in zip(scores, rows)]
        for shape in maps[0]:
            observed, shuffled = _split([each[shape] for each in maps], rows)
            found.setdefault(f"{shape}, {TEST_LABELS}", []).append(_smallest(observed, shuffled))
        observed, shuffled = _split([each["curve"] for each in maps], rows)
        how: dict[str, Any] = {
            "settings": GroupSettings(null="sign-flips"),
            "seed": seed_for(seed, "flips", turn, true),
        }
        found.setdefault(f"curve, {FLIPS}", []).append(_smallest(observed, shuffled, **how))
        how = {"draws": len(shuffled[0]), "seed": seed_for(seed, "group", turn, true)}
        found.setdefault(f"curve, {AGAIN}", []).append(_smallest(*_split(trained, rows), **how))
    found["moments"] = [_sums(trained), _sums(shuffled)]
    return found


def run(options: Options) -> dict[str, Any]:
    """Simulate studies without an effect and test them."""
    recordings = QUICK_RECORDINGS if options.quick else RECORDINGS
    permutations = QUICK_PERMUTATIONS if options.quick else PERMUTATIONS
    work = partial(studies_of, permutations=permutations)
    with ProcessPoolExecutor(cores(), multiprocessing.get_context("spawn")) as pool:
        return {"permutations": permutations, **summary(list(pool.map(work, range(recordings))))}


def summary(found: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Shares of significant studies, and what the scores were like."""
    levels: dict[str, Any] = {}
    moments: dict[str, Any] = {}
    for name in CLASSIFIERS:
        each = [one[name] for one in found]
        sums = np.sum([one["moments"] for one in each], axis=0)
        moments[name] = dict(zip(MOMENTS, map(_moments, sums)))
        for way in (way for way in each[0] if way != "moments"):
            significant = np.array([one[way] for one in each]) <= ALPHA  # recordings × studies × statistics
            of_recordings = significant.mean(axis=1).T
            both = dict(zip(("maximum", "clusters"), map(_share, of_recordings)))
            levels[f"{name}: {way}"] = both
    numbers = {"studies": len(found) * LABELLINGS * TURNS, "recordings": len(found)}
    return {**numbers, "levels": levels, "moments": moments, "tables": _tables(levels, moments, **numbers)}


def _split(maps: Sequence[FloatArray], rows: Sequence[int]) -> tuple[FloatArray, list[FloatArray]]:
    """Each participant's true map, which is in that row, and the others."""
    true = np.stack([each[row] for each, row in zip(maps, rows)])
    return true, [np.delete(each, row, axis=0) for each, row in zip(maps, rows)]


def _smallest(observed: FloatArray, null: list[FloatArray], **how: Any) -> list[float]:
    result = group_statistics(observed, null, **{"chance": CHANCE, "settings": GroupSettings(), **how})
    return [float(result.p_max.min()), float(result.p_cluster.min())]


def _share(of_recordings: FloatArray) -> dict[str, float]:
    """Studies of the same recordings may be alike: the interval is of their means."""
    share, number = float(of_recordings.mean()), len(of_recordings)
    half = 1.96 * float(of_recordings.std(ddof=1)) / number**0.5 if number > 1 else 1.0
    return {"share": share, "low": max(0.0, share - half), "high": min(1.0, share + half)}


def _sums(curves: Iterable[FloatArray]) -> list[float]:
    every, group = np.concatenate([*curves]) - CHANCE, GroupSettings()
    each = gaussian_filter1d(every, group.smooth, mode="nearest", truncate=group.truncate)
    return [float((each**power).sum()) for power in range(4)]


def _moments(sums: FloatArray) -> dict[str, float]:
    first, second, third = (sums[1:] / sums[0]).tolist()
    deviation = (second - first**2) ** 0.5
    skewness = (third - 3 * first * second + 2 * first**3) / deviation**3
    return {"mean": first, "deviation": deviation, "skewness": skewness}


def _tables(
    levels: dict[str, Any], moments: dict[str, Any], studies: int, recordings: int
) -> list[dict[str, Any]]:
    shares = [
        [name, *(f"{100 * x['share']:.1f} % ± {50 * (x['high'] - x['low']):.1f}" for x in both.values())]
        for name, both in levels.items()
    ]
    scores = [
        [f"{name}: {what}", *(f"{value:.2f}" for value in each.values())]
        for name, found in moments.items()
        for what, each in found.items()
    ]
    return [
        {
            "title": f"Of {studies:,} studies of noise, significant at {ALPHA:g}",
            "columns": ["", "maximum statistic", "clusters"],
            "rows": shares,
            "note": f"{recordings:,} sets of recordings of {PARTICIPANTS} participants, of each "
            f"{LABELLINGS * TURNS} studies with other labels; ± half of the 95 % interval, over sets.",
        },
        {
            "title": "Smoothed cross-validated scores of noise, less chance",
            "columns": ["", "mean, points", "standard deviation, points", "skewness"],
            "rows": scores,
            "note": "Of a participant in a bin, over participants, bins and studies.",
        },
    ]
