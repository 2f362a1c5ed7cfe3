"""The group stage: maps of all participants and their permutations in, corrected statistics out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter, generate_binary_structure, label
from scipy.special import ndtri, stdtrit  # quantiles without the weight of scipy.stats

from shortloop.base.types import FloatArray, IntArray
from shortloop.eeg.group.maps import (
    TRUE,
    MapStatistics,
    draw_rows,
    leave_one_out_z,
    one_sample_t,
    sign_flips,
)
from shortloop.eeg.group.settings import GroupSettings, limits_note
from shortloop.eeg.score_names import Score

TIE_TOLERANCE = 1e-10
"""Null statistics that fall short of the observed one by less than this, relatively, count as equal to it.
Statistics that are equal on paper (a flip and its mirror, the same shuffle drawn twice, participants in
another order) are sums in different order and differ by about 1e-15; without this, a p could halve."""

VALUES_AT_ONCE = 2**18
"""Null maps are made in pieces of about this many values (2 MiB): memory stays small, caches stay warm."""


def group_statistics(
    observed: FloatArray,
    permuted: Sequence[FloatArray],
    *,
    chance: float | FloatArray,
    settings: GroupSettings,
    seed: np.random.SeedSequence | None = None,
    score: Score = "balanced-accuracy",
    draws: int | None = None,
) -> MapStatistics:
    r"""Test maps of scores against chance, corrected for all their cells.

    Parameters
    ----------
    observed : array of float, shape (participants, \*map)
        Scores, not smoothed; a map is a curve over bins or a plane.
    permuted : sequence of arrays of float, each of shape (permutations, \*map)
        The same scores under each permutation, an array for each participant. May be read-only memory maps:
        they are read in pieces. With ``null = 'sign-flips'`` only their number is used.
    chance : float or array of float, shape (participants, \*map)
        Chance level, in the unit of the scores; where it differs, that of each participant and cell.
    settings : GroupSettings
        Smoothing (bins), `alpha`, `cluster_alpha` and the null distribution.
    seed : SeedSequence, optional
        For sign flips that are too many to use all, and for `draws`.
    score : {"balanced-accuracy", "accuracy", "auc"}, default "balanced-accuracy"
        What the scores are: percent, of ``"auc"`` 0 to 1.
    draws : int, optional
        So many null maps are drawn from what each participant's map could as well have been: the true one and
        the permuted ones, which may be few (:func:`.draw_rows`). They must be of labels that were shuffled
        before anything was trained. Default: the p-th null map is of everybody's p-th permuted map. Of no
        effect with one participant, and with sign flips.

    Returns
    -------
    MapStatistics
        With exact sign flips, `null_max` and `null_mass` hold all 2^participants patterns, the observed one
        first; otherwise one value for each null map, the observed one not among them.

    Raises
    ------
    ValueError
        If shapes do not fit each other, scores are not finite, or a seed is missing.

    Notes
    -----
    Every participant's map is smoothed; t is the two-sided one-sample t over participants against chance
    (:func:`.one_sample_t` says of cells that do not vary). Null t maps are of the p-th permuted map of every
    participant, for each p, of maps that are drawn for each participant, or from flipping signs of (map −
    chance) of whole participants. p = (1 + number of null statistics at least as large) / (null maps + 1)
    (Phipson & Smyth 2010, Permutation p-values should never be zero, Stat Appl Genet Mol Biol 9), of the
    maximum \\|t\\| of the map (Nichols & Holmes 2002, Hum Brain Mapp 15) and of the maximum cluster mass
    (Maris & Oostenveld 2007, J Neurosci Methods 164; clusters form above the t quantile of `cluster_alpha`,
    two-sided). With all sign flips, p is the proportion of them.

    With one participant, t is the z-score of the map in the distribution of its permutations, and every
    permuted map's z-score is that in the distribution of all other maps, the observed one among them
    (:func:`~shortloop.eeg.group.maps.leave_one_out_z`); the threshold is a normal quantile.
    """
    observed = np.asarray(observed, dtype=np.float64)
    _check(observed, permuted)
    participants, permutations = len(observed), len(permuted[0])
    levels = np.broadcast_to(np.asarray(chance, dtype=np.float64), observed.shape)
    points = 100.0 if score == "auc" else 1.0  # percentage points in a unit of the scores

    def smooth(maps: FloatArray, level: FloatArray) -> FloatArray:
        # Differences from chance: small numbers, so that nothing is lost in sums of squares.
        deviations, axes = (np.asarray(maps, dtype=np.float64) - level) * points, tuple(range(1, maps.ndim))
        # The kernel is sampled at whole bins, cut at ``round(truncate * smooth)`` and normalised to sum to 1.
        how: dict[str, Any] = {"mode": "nearest", "truncate": settings.truncate, "axes": axes}
        return np.asarray(gaussian_filter(deviations, settings.smooth, **how))

    smoothed = smooth(observed, levels)
    null: Iterable[FloatArray]
    exact = False
    if participants == 1:
        _check_finite(permuted)
        z = leave_one_out_z(np.concatenate([smoothed, smooth(permuted[0], levels[0])]))
        t, null = z[0], [z[1:]]
    elif settings.null == "permutations":
        t, null = one_sample_t(smoothed), _permutation_null(observed, permuted, levels, smooth, draws, seed)
    else:
        signs, exact = sign_flips(participants, permutations, seed)
        t, null = one_sample_t(smoothed), _flip_null(smoothed, signs)
    lower = settings.cluster_alpha / 2
    threshold = -float(ndtri(lower) if participants == 1 else stdtrit(participants - 1, lower))
    both = [(np.abs(of).reshape(len(of), -1).max(axis=1), max_cluster_mass(of, threshold)) for of in null]
    null_max, null_mass = map(np.concatenate, zip(*both, strict=True))
    clusters, masses = label_clusters(t, threshold)
    p_of_cluster = _p_values(masses, null_mass, exact)
    p_of_cluster[0] = 1.0
    p_cluster = p_of_cluster[clusters]
    expected = None if np.ndim(chance) == 0 else levels.mean(axis=0)
    return MapStatistics(
        scores=observed,
        mean=(chance if expected is None else expected) + smoothed.mean(axis=0) / points,
        t=t,
        p_max=_p_values(t, null_max, exact),
        p_cluster=p_cluster,
        clusters=clusters,
        significant=(clusters != 0) & (p_cluster <= settings.alpha),
        null_max=null_max,
        null_mass=null_mass,
        threshold=threshold,
        chance=float(np.mean(levels)) if expected is not None else float(chance),
        expected=expected,
        score=score,
        alpha=settings.alpha,
        level="participant" if participants == 1 else "group",
        note=limits_note(participants, permutations, settings.alpha, settings.null, draws),
    )


def _check(observed: FloatArray, permuted: Sequence[FloatArray]) -> None:
    if observed.ndim not in (2, 3) or observed.size == 0:
        raise ValueError(f"observed maps: expected curves or planes of participants, not {observed.shape}")
    _check_finite(observed, "observed")
    if len(permuted) != len(observed):
        raise ValueError(f"permuted maps of {len(permuted)} participants, observed of {len(observed)}")
    expected = (max(1, len(permuted[0])), *observed.shape[1:])
    for index, maps in enumerate(permuted):
        if maps.shape != expected:
            raise ValueError(
                f"permuted maps of participant {index}: expected {expected[0]} permutations of "
                f"{expected[1:]}, as many for all, not {maps.shape}"
            )


def _check_finite(maps: Iterable[FloatArray], kind: str = "permuted") -> None:
    for index, each in enumerate(maps):
        if not np.isfinite(each).all():
            raise ValueError(f"{kind} maps of participant {index}: scores that are not finite")


def _permutation_null(
    observed: FloatArray,
    permuted: Sequence[FloatArray],
    levels: FloatArray,
    smooth: Callable[..., FloatArray],
    draws: int | None,
    seed: np.random.SeedSequence | None,
) -> Iterator[FloatArray]:
    """Null maps of everybody's p-th permutation, or, if asked for, of maps drawn for each participant."""
    count, rows = len(permuted[0]), None
    if draws is not None:
        if seed is None or draws < 1:
            raise ValueError(f"null maps that are drawn need a seed, and at least one draw, not {draws}")
        _check_finite(permuted)  # whether it is drawn or not
        count, rows = draws, draw_rows(len(permuted), count, draws, seed)
    for piece in _pieces(count, observed.size):
        if rows is not None:
            maps = [others[row - 1] for others, row in zip(permuted, rows[piece].T, strict=True)]
            for drawn, own, row in zip(maps, observed, rows[piece].T, strict=True):
                drawn[row == TRUE] = own
        else:
            maps = [each[piece] for each in permuted]
            _check_finite(maps)
        yield one_sample_t(np.stack([smooth(*each) for each in zip(maps, levels, strict=True)]))


def _flip_null(smoothed: FloatArray, signs: FloatArray) -> Iterator[FloatArray]:
    # Smoothing is linear, so the flip of a smoothed map is the smoothed flip.
    for piece in _pieces(len(signs), smoothed.size):
        flipped = signs[piece].T.reshape(len(smoothed), -1, *[1] * (smoothed.ndim - 1))
        yield one_sample_t(flipped * smoothed[:, np.newaxis])


def _pieces(count: int, values_each: int) -> Iterator[slice]:
    step = max(1, VALUES_AT_ONCE // values_each)
    return (slice(start, start + step) for start in range(0, count, step))


def _p_values(statistic: FloatArray, null: FloatArray, exact: bool) -> FloatArray:
    larger = len(null) - np.searchsorted(np.sort(null), np.abs(statistic) * (1 - TIE_TOLERANCE))
    observed = 0 if exact else 1  # among the null already if that is exact
    return np.asarray((larger + observed) / (len(null) + observed))


def label_clusters(t: FloatArray, threshold: float) -> tuple[IntArray, FloatArray]:
    """Label the clusters of one t map: neighbouring cells beyond the threshold with the same sign."""
    # Cells are neighbours along the axes only (two in a curve, four in a plane) and clusters of opposite sign
    # never join: Maris & Oostenveld (2007), Nonparametric statistical testing of EEG- and MEG-data, J
    # Neurosci Methods 164, section 3.1.1. Positive clusters are numbered from 1 up, negative ones from -1
    # down, each from the heaviest to the lightest, 0 outside clusters; the number is the index of the mass.
    labels = np.zeros(t.shape, dtype=np.intp)
    both = []
    for sign in (1, -1):
        found, masses, _ = _one_sign(sign * t[np.newaxis], threshold)
        order = np.argsort(-masses, kind="stable")
        rank = np.zeros(len(masses) + 1, dtype=np.intp)
        rank[1 + order] = np.arange(1, len(masses) + 1)
        labels += sign * rank[found[0]]
        both.append(masses[order])
    return labels, np.concatenate([[0.0], both[0], both[1][::-1]])


def max_cluster_mass(t_maps: FloatArray, threshold: float) -> FloatArray:
    """Mass of the heaviest cluster of each of many t maps (n, *map), of either sign; 0 where it has none."""
    heaviest = np.zeros(len(t_maps))
    for sign in (1, -1):
        _, masses, owners = _one_sign(sign * t_maps, threshold)
        np.maximum.at(heaviest, owners, masses)
    return heaviest


def _one_sign(t_maps: FloatArray, threshold: float) -> tuple[IntArray, FloatArray, IntArray]:
    """Labels of the clusters above the threshold; of each cluster, its mass and the map it lies in."""
    # All maps are labelled in one call, with a neighbourhood that does not reach from map to map.
    neighbours = generate_binary_structure(t_maps.ndim, 1)
    neighbours[0] = neighbours[2] = False  # not from one map to the next
    above = t_maps > threshold
    labels = np.zeros(t_maps.shape, dtype=np.intp)
    count = label(above, neighbours, output=labels)
    cells = np.flatnonzero(above)
    of_cell = labels.ravel()[cells] - 1
    masses = np.zeros(count)
    np.add.at(masses, of_cell, t_maps.ravel()[cells])
    owners = np.zeros(count, dtype=np.intp)
    owners[of_cell] = cells // max(1, math.prod(t_maps.shape[1:]))
    return labels, masses, owners
