"""Whether a library came to the right numbers: sums to the last bit, random numbers by their distribution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from shortloop.frames.size import STEP
from shortloop.frames.work import ADDED, Aggregates
from shortloop.types import FloatArray

__all__ = ["LEAST_P", "Checked", "check_aggregates", "check_random", "true_aggregates"]

LEAST_P = 1e-6
"""Numbers that are less probable than this, if all is right, are taken for wrong."""
SAME = 2.0**-42
"""Random numbers that differ by less are taken for the same number: adding one to x + 100, which is below
2¹⁰, rounds it by 2⁻⁴⁴ at most."""


@dataclass(frozen=True)
class Checked:
    """What was found.

    Parameters
    ----------
    wrong : str
        What is wrong; empty: nothing.
    ks_p : float or None
        p of the test of Kolmogorov and Smirnov that random numbers are uniform.
    repeated : float or None
        Share of random numbers that occur more than once.
    """

    wrong: str = ""
    ks_p: float | None = None
    repeated: float | None = None


def true_aggregates(parts: Iterable[tuple[np.ndarray, list[np.ndarray]]], groups: int) -> Aggregates:
    """What the transformation ``groups`` must give.

    Parameters
    ----------
    parts : iterable of (array, list of array)
        Key and other columns of each part of the table.
    groups : int
        Keys go from 0 to this.

    Returns
    -------
    Aggregates
        Counted in integers, so that nothing is rounded.
    """
    counts, sums = np.zeros(groups, np.int64), None
    for keys, columns in parts:
        counts += np.bincount(keys, minlength=groups)
        order = np.argsort(keys, kind="stable")
        starts = np.searchsorted(keys[order], np.arange(groups + 1))
        whole = np.zeros((len(keys) + 1, len(columns)), np.int64)
        for j, column in enumerate(columns):
            steps = column / STEP
            assert (steps == np.rint(steps)).all()
            np.cumsum(steps[order].astype(np.int64), out=whole[1:, j])
        found = whole[starts[1:]] - whole[starts[:-1]]
        sums = found if sums is None else sums + found
    assert sums is not None
    return Aggregates(counts, sums * STEP)


def check_aggregates(found: Aggregates, true: Aggregates) -> Checked:
    """Whether counts and sums are right, to the last bit: sums of such values are exact in any order.

    Parameters
    ----------
    found, true : Aggregates
        What a library gave, and what it must give.

    Returns
    -------
    Checked
    """
    for name, mine, theirs in zip(("numbers of rows", "sums"), found, true, strict=True):
        if mine.shape != theirs.shape:
            return Checked(f"{name} of the shape {mine.shape} in place of {theirs.shape}")
        other = mine != theirs
        if other.any():
            where = tuple(int(each[0]) for each in np.nonzero(other))
            return Checked(
                f"{int(other.sum())} of {other.size} {name} are wrong, the first of group {where[0]}: "
                f"{mine[where]!s} in place of {theirs[where]!s}"
            )
    return Checked()


def check_random(found: FloatArray, x: FloatArray) -> Checked:
    """Whether values are x + 100 + a random number, uniform between 0 and 1, another one for each row.

    Parameters
    ----------
    found : array, shape (rows,)
        What a library gave, in the order of the table.
    x : array, shape (rows,)
        The column.

    Returns
    -------
    Checked
    """
    if found.shape != x.shape:
        return Checked(f"values of the shape {found.shape} in place of {x.shape}")
    drawn = found - ADDED - x
    outside = ~((drawn >= 0.0) & (drawn <= 1.0))  # 1: 0.999… rounds up
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        return Checked(
            f"{int(outside.sum())} of {len(x)} values are not in x + 100 to x + 101, the first in row {row}: "
            f"{found[row]!s} where x is {x[row]!s}"
        )
    from scipy import stats

    drawn = np.sort(drawn)
    ks_p = float(stats.kstest(drawn, "uniform").pvalue) if len(drawn) else 1.0
    pairs = int((np.diff(drawn) < SAME).sum())
    expected = len(drawn) * (len(drawn) - 1) * SAME  # by chance: any of the pairs with 2 SAME
    repeated = pairs / max(1, len(drawn))
    wrong = []
    if float(stats.poisson.sf(pairs - 1, expected)) < LEAST_P:
        wrong.append(
            f"{100 * repeated:.2g} % of the random numbers repeat another one: workers drew the same numbers"
        )
    if ks_p < LEAST_P:
        wrong.append(f"random numbers are not uniform: p = {ks_p:.1g} (Kolmogorov and Smirnov)")
    return Checked("; ".join(wrong), ks_p, repeated)
