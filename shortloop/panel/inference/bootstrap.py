"""Wild cluster bootstrap of coefficients of least squares.

Each null hypothesis is imposed, and weights of clusters are 1 or -1 (Cameron, Gelbach and Miller 2008,
Bootstrap-based improvements for inference with clustered errors, section 3.B). Statistics of draws need only
sums of clusters (Roodman, Nielsen, MacKinnon and Webb 2019, Fast and wild, section 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from shortloop.base.types import FloatArray, IntArray
from shortloop.panel.formulas.design import Design

TIE = 1e-9  # share of a statistic by which that of a draw has to be larger
DRAWN = 500  # draws at a time
Scores = Callable[[FloatArray], FloatArray]
"""From weights, (draws, clusters), to scores of the same shape."""


def wild_pvalues(design: Design, draws: int, seed: np.random.SeedSequence) -> FloatArray:
    """Compute a p value of each coefficient, (coefficients,); all draws there are, if they are no more."""
    root = np.sqrt(design.roles["weights"]) if "weights" in design.roles else 1.0
    columns, outcome = design.columns * root, design.outcome * root
    clusters = np.unique(design.roles["clusters"], return_inverse=True)[1]
    number, lengths = int(clusters.max()) + 1, np.sqrt(np.square(columns).sum(axis=1))
    basis, triangle = np.linalg.qr((columns / lengths[:, np.newaxis]).T)
    shares = np.linalg.solve(triangle, basis.T)  # of rows in coefficients of columns of unit length
    params = shares @ outcome
    residuals = outcome - basis @ (basis.T @ outcome)
    larger, total = np.zeros(len(params)), 0
    facts = [_facts(basis, share, residuals, param, clusters, number) for share, param in zip(shares, params)]
    for weights in _weights(number, draws, np.random.default_rng(seed)):
        total += len(weights)
        for j, (estimates, scores, statistic) in enumerate(facts):
            with np.errstate(all="ignore"):
                drawn = np.abs(weights @ estimates) / np.sqrt(np.square(scores(weights)).sum(axis=1))
            larger[j] += np.count_nonzero(drawn > statistic * (1.0 + TIE))
    known = [np.isfinite(statistic) for _, _, statistic in facts]
    return np.where(known, larger / total, np.nan)


def _facts(
    basis: FloatArray, share: FloatArray, residuals: FloatArray, param: float, clusters: IntArray, number: int
) -> tuple[FloatArray, Scores, float]:
    """Return what clusters add to an estimate, scores of draws, and the statistic of the data."""

    def sums(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(clusters, values, minlength=number), np.float64)

    restricted = residuals + share * (param / (share @ share))
    estimates = sums(share * restricted)
    of_basis = np.array([sums(column * restricted) for column in basis.T])
    by_basis = np.array([sums(column * share) for column in basis.T])
    statistic = abs(param) / np.sqrt(np.square(sums(share * residuals)).sum())
    return (
        estimates,
        lambda weights: weights * estimates - (weights @ of_basis.T) @ by_basis,
        float(statistic),
    )


def _weights(clusters: int, draws: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield weights of clusters, (draws, clusters)."""
    if clusters <= 30 and 2 ** (clusters - 1) <= draws:  # the other half has the same statistics
        every = np.arange(2 ** (clusters - 1))[:, np.newaxis] >> np.arange(clusters)
        draws = len(every)
    else:
        every = None
    for first in range(0, draws, DRAWN):
        last = min(first + DRAWN, draws)
        signs = rng.integers(0, 2, (last - first, clusters)) if every is None else every[first:last] & 1
        yield 1.0 - 2.0 * signs
