"""The level of a null is counted over studies that differ in their labels, and in nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cases import first_cases
from scipy import ndimage, stats

import benchmarks.level as part
from benchmarks.level import CHANCE, CLASSIFIERS, Noise, p_values, summary
from shortloop.eeg.decoding.generalize import retrained_scores

PERMUTATIONS = 19


@pytest.fixture(scope="module")
def people() -> list[Noise]:
    return [Noise.of(f"S{number}", 3, PERMUTATIONS) for number in range(2)]


@pytest.mark.slow
def test_labels_are_shuffled_within_folds(people: list[Noise]) -> None:
    for each in people:
        assert each.labels.shape == (1 + PERMUTATIONS, len(each.folds))
        for fold in range(part.FOLDS):
            own = np.sort(each.labels[:, each.folds == fold], axis=1)
            np.testing.assert_array_equal(own, np.broadcast_to(own[0], own.shape))
        assert len(np.unique(each.labels, axis=0)) == 1 + PERMUTATIONS
    assert (people[0].train != people[1].train).any()


@first_cases(1, "name", CLASSIFIERS)
@pytest.mark.slow
def test_scores_are_those_of_the_stage_that_trains_again(people: list[Noise], name: str) -> None:
    asked, noise = CLASSIFIERS[name], people[0]
    for row in (0, 4):
        how: dict[str, Any] = {"decoding": asked.decoding, "estimator": asked.estimator, "n_classes": 3}
        test = noise.test if asked.generalizes else None
        given = (noise.train, noise.labels[row], noise.folds, test, noise.test_labels[row])
        curve, plane = retrained_scores(*given, within=False, **how)
        found = noise.scores(asked, row)
        np.testing.assert_array_equal(found["curve"][row], curve)
        assert ("plane" in found) == (plane is not None)
        if plane is not None:
            np.testing.assert_array_equal(found["plane"][row], plane)


@pytest.mark.slow
def test_studies_and_their_moments(people: list[Noise], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = CLASSIFIERS["LDA, all features"]
    monkeypatch.setattr(part, "CLASSIFIERS", {"LDA, all features": asked})
    found = p_values(people, asked, 3)
    ways = [way for way in found if way != "moments"]
    assert [way.partition(", ")[0] for way in ways] == ["curve"] * 3
    for way in ways:
        assert np.shape(found[way]) == (part.LABELLINGS * part.TURNS, 2)
    curves = np.concatenate(
        [[each.scores(asked, row)["curve"][row] for row in range(part.LABELLINGS)] for each in people]
    )
    smooth = ndimage.gaussian_filter1d(curves - CHANCE, 1.0, mode="nearest", truncate=2.0).ravel()
    moments = summary([{"LDA, all features": found}])["moments"]["LDA, all features"]["labels trained on"]
    assert moments["mean"] == pytest.approx(smooth.mean())
    assert moments["deviation"] == pytest.approx(smooth.std())
    assert moments["skewness"] == pytest.approx(stats.skew(smooth))


def test_shares_and_their_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "CLASSIFIERS", {"x": None})
    rng = np.random.default_rng(0)
    p: Any = rng.uniform(0, 0.2, (40, part.LABELLINGS * part.TURNS, 2))
    found = summary([{"x": {"curve": each.tolist(), "moments": [[2, 1, 5, 7]] * 2}} for each in p])
    assert (found["recordings"], found["studies"]) == (40, p[..., 0].size)
    ((_, *cells),) = found["tables"][0]["rows"]
    for index, statistic in enumerate(("maximum", "clusters")):
        level = found["levels"]["x: curve"][statistic]
        of_recordings = (p[..., index] <= 0.05).mean(axis=1)
        assert level["share"] == pytest.approx((p[..., index] <= 0.05).mean())
        half = 1.96 * stats.sem(of_recordings)
        assert (level["low"], level["high"]) == pytest.approx((level["share"] - half, level["share"] + half))
        assert cells[index] == f"{100 * level['share']:.1f} % ± {100 * half:.1f}"
