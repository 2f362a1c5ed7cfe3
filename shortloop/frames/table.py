"""Simulate the table part by part, compute its true aggregates, and check the results of libraries.

Sums are exact in any order (`STEP` of `shortloop.frames.transformations`): those of libraries must agree to
the bit.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from shortloop.base.seeds import seed_for
from shortloop.base.types import FloatArray
from shortloop.frames.transformations import ADDED, COUNT, GROUPS, KEY, NEW, STEP, Aggregates, Work, X

HALF = 2**19  # values lie within this many steps of zero
LEAST_P = 1e-6  # results less probable than this under the null hypothesis are wrong
SAME = 2.0**-42  # random numbers that differ by less are repeated: x + 100 + 1 < 2¹⁰ is rounded by ≤ 2⁻⁴⁴


class Checked(NamedTuple):
    wrong: str = ""  # empty: nothing
    ks_p: float | None = None  # of the Kolmogorov-Smirnov test that random numbers are uniform
    repeated: float | None = None  # share of random numbers that occur more than once


def column_names(columns: int) -> tuple[str, ...]:
    """Names of all columns without the key."""
    return (X, *(f"v{number:03d}" for number in range(1, columns - 1)))


def rows_of_parts(rows: int, chunk: int) -> tuple[int, ...]:
    parts = -(-rows // chunk)
    return tuple(rows // parts + (part < rows % parts) for part in range(parts))


def part_bytes(seed: int, part: int, rows: int, columns: int, groups: int) -> bytes:
    """Content of one Parquet file of the table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(seed_for(seed, "frames", "table", part))
    values: dict[str, np.ndarray] = {KEY: rng.integers(0, groups, rows)}
    values |= {name: rng.integers(-HALF, HALF, rows) * STEP for name in column_names(columns)}
    out = io.BytesIO()
    pq.write_table(pa.table(values), out, compression="none", use_dictionary=False)
    return out.getvalue()


def parts_of(work: Work) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
    """Read the table part by part: the key, int64, (rows,), and the other columns, float64, (rows,)."""
    import pyarrow.parquet as pq

    for part in range(len(work.rows)):
        table = pq.read_table(work.file(part), use_threads=False)
        yield table[KEY].to_numpy(), [table[name].to_numpy() for name in work.columns]


def true_aggregates(parts: Iterable[tuple[np.ndarray, list[np.ndarray]]], groups: int) -> Aggregates:
    """Count and sum, in integers, the parts that `parts_of` yields."""
    counts, sums = np.zeros(groups, np.int64), None
    for keys, columns in parts:
        counts += np.bincount(keys, minlength=groups)
        sums = np.zeros((len(columns), groups), np.int64) if sums is None else sums
        for column, found in zip(columns, sums, strict=True):
            steps = column / STEP
            assert (steps == np.rint(steps)).all()
            np.add.at(found, keys, steps.astype(np.int64))
    assert sums is not None
    return Aggregates(counts, np.multiply(sums.T, STEP, order="C"))


def result_of(found: Mapping[str, Any], transformation: str, work: Work) -> FloatArray | Aggregates:
    """The new column, (rows,), or the aggregates, from the columns of a library's result by name."""
    if transformation != GROUPS:
        return np.asarray(found[NEW], np.float64)
    made = Aggregates(np.zeros(work.groups, np.int64), np.zeros((work.groups, len(work.columns))))
    keys = np.asarray(found[KEY], np.int64)
    made.counts[keys] = np.asarray(found[COUNT])
    for number, name in enumerate(work.columns):
        made.sums[keys, number] = np.asarray(found[name])
    return made


def check_aggregates(found: Aggregates, true: Aggregates) -> Checked:
    """Compare counts and sums to the last bit."""
    for name, mine, theirs in zip(("numbers of rows", "sums"), found, true, strict=True):
        if mine.shape != theirs.shape:
            return Checked(f"{name} of the shape {mine.shape}, expected {theirs.shape}")
        other = mine != theirs
        if other.any():
            where = tuple(int(each[0]) for each in np.nonzero(other))
            return Checked(
                f"{int(other.sum())} of {other.size} {name} are wrong, the first of group {where[0]}: "
                f"{mine[where]!s}, expected {theirs[where]!s}"
            )
    return Checked()


def check_random(found: FloatArray, x: FloatArray) -> Checked:
    """Check that values are x + 100 + an independent uniform number from 0 to 1; (rows,), in table order."""
    if found.shape != x.shape:
        return Checked(f"values of the shape {found.shape}, expected {x.shape}")
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
        wrong.append(f"{100 * repeated:.2g} % of the random numbers repeat another: workers drew the same")
    if ks_p < LEAST_P:
        wrong.append(f"random numbers are not uniform: p = {ks_p:.1g} (Kolmogorov and Smirnov)")
    return Checked("; ".join(wrong), ks_p, repeated)
