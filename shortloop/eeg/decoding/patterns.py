"""Activation patterns of linear classifiers: signals that covary with their decisions."""

from __future__ import annotations

import numpy as np

from shortloop.base.types import FloatArray, IntArray


def activation_patterns(
    x: FloatArray, folds: IntArray, weights: FloatArray, kept: np.ndarray, *, standardized: bool
) -> FloatArray:
    """Activation patterns (classes, features) of the classifiers of one bin, mean over their folds."""
    # Of each classifier of a class against the rest, A = cov(x) w / cov(s), where s = x w are its decisions;
    # features that it does not use have a pattern, too. Decisions s are scaled to a standard deviation of 1,
    # because each fold has a scale of its own. A pattern is in the unit of the features: their rise, over the
    # training trials, as the decision for a class rises by one of its standard deviations.
    # Haufe, Meinecke, Görgen, Dähne, Haynes, Blankertz & Bießmann (2014). On the interpretation of weight
    # vectors of linear models in multivariate neuroimaging. NeuroImage 87, 96-110.
    # x: (trials, features); weights: (folds, classes, features); kept: (folds, features)
    used = np.flatnonzero(kept.any(axis=1))
    n_classes, n_features = weights.shape[1:]
    if not len(used):
        return np.full((n_classes, n_features), np.nan)
    centred = np.asarray(x, dtype=np.float64)
    centred = centred - centred.mean(axis=0)  # so that squares lose nothing
    member = (np.asarray(folds) != used[:, np.newaxis]).astype(np.float64)  # training trials of each fold
    count = member.sum(axis=1, keepdims=True)
    w = np.asarray(weights[used], dtype=np.float64)
    if standardized:
        mean = member @ centred / count
        spread = np.sqrt(np.maximum(member @ centred**2 / count - mean**2, 0.0))
        # A feature that does not vary has a weight of 0.
        w = np.divide(w, spread[:, np.newaxis], out=np.zeros_like(w), where=spread[:, np.newaxis] > 0)
    # Decisions (folds, classes, trials) of every classifier on its training trials.
    decisions = np.einsum("fkp,tp->fkt", w, centred, optimize=True)
    decisions -= (decisions * member[:, np.newaxis]).sum(axis=2, keepdims=True) / count[..., np.newaxis]
    decisions *= member[:, np.newaxis]
    deviation = np.sqrt((decisions**2).sum(axis=2, keepdims=True) / (count[..., np.newaxis] - 1))
    decisions = np.divide(decisions, deviation, out=np.zeros_like(decisions), where=deviation > 0)
    patterns = np.einsum("fkt,tp->fkp", decisions, centred, optimize=True) / (count[..., np.newaxis] - 1)
    return np.asarray(patterns.mean(axis=0))
