"""Votes are those of double precision, however near to each other the decisions are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shortloop.eeg.decoding.apply import apply_weights, stack_weights

BINS, FOLDS, CLASSES, TRIALS, FEATURES = 2, 3, 3, 60, 300


def expected(x: np.ndarray, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Decisions (bins, folds, classes, trials) in double precision."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.einsum("bfkj,ij->bfki", weights, z) + intercepts[..., np.newaxis]


def nearly_equal(seed: int, apart: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, and weights of classes that differ by no more than a share of their size."""
    rng = np.random.default_rng(seed)
    common = rng.standard_normal((BINS, FOLDS, 1, FEATURES))
    weights = common + apart * rng.standard_normal((BINS, FOLDS, CLASSES, FEATURES))
    return rng.standard_normal((TRIALS, FEATURES)), weights, np.zeros((BINS, FOLDS, CLASSES))


# 1e-5: double precision tells. 1e-8: only with the features in double precision, too.
@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-5, 1e-7, 1e-8, 1e-9])
def test_near_ties(apart: float) -> None:
    x, weights, intercepts = nearly_equal(0, apart)
    votes = apply_weights(
        x, stack_weights(weights), intercepts, np.ones((BINS, FOLDS), dtype=bool), scaling="separate"
    )
    decisions = expected(x, weights, intercepts)
    called = decisions.argmax(axis=2)  # (bins, folds, trials)
    np.testing.assert_array_equal(votes, (called[..., np.newaxis] == np.arange(CLASSES)).sum(axis=1))
    single = expected(x.astype(np.float32), weights.astype(np.float32), intercepts.astype(np.float32))
    if apart <= 1e-7:
        assert (single.argmax(axis=2) != called).any()


@pytest.mark.parametrize("scaling", ["separate", "training"])
def test_ties_go_to_the_first_class(scaling: str) -> None:
    x, weights, intercepts = nearly_equal(1, 0.0)
    votes = apply_weights(
        x, stack_weights(weights), intercepts, np.ones((BINS, FOLDS), dtype=bool), scaling=scaling
    )
    assert (votes[..., 0] == FOLDS).all()


@given(
    st.integers(0, 2**31), st.integers(2, 5), st.integers(1, 40), st.sampled_from(["separate", "training"])
)
@settings(max_examples=40, deadline=None)
def test_as_counted_one_by_one(seed: int, classes: int, features: int, scaling: str) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([1e-6, 1.0, 1e6]) * rng.standard_normal((20, features)) + rng.choice([0.0, 3.0])
    weights = rng.standard_normal((BINS, FOLDS, classes, features))
    weights[..., rng.random(features) < 0.3] = 0.0
    intercepts = rng.standard_normal((BINS, FOLDS, classes))
    has_model = rng.random((BINS, FOLDS)) < 0.8
    votes = apply_weights(x, stack_weights(weights), intercepts, has_model, scaling=scaling)
    if scaling == "separate":
        decisions = expected(x, weights, intercepts)
    else:
        decisions = np.einsum("bfkj,ij->bfki", weights, x) + intercepts[..., np.newaxis]
    counted = np.zeros_like(votes)
    for each in range(BINS):
        for fold in np.flatnonzero(has_model[each]):
            for trial, winner in enumerate(decisions[each, fold].argmax(axis=0)):
                counted[each, trial, winner] += 1
    np.testing.assert_array_equal(votes, counted)
