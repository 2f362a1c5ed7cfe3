"""exax: a loop over the rows of a slice, in the process of that slice.

Here slices measure themselves: they are processes of a job, and begin each repeat together.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.frames.processes import busy_seconds, memory
from shortloop.frames.timing import LEAST, Timed, again
from shortloop.frames.work import ADDED, APPLY, COLUMN, GROUPS, KEY, Aggregates, X

if TYPE_CHECKING:
    from shortloop.types import FloatArray, IntArray
    from shortloop.worker.dataset import Dataset

__all__ = ["ROW", "Slice", "Together", "measure_slice", "of_slice", "timed_together", "whole"]

ROW = "row"
"""Column of the dataset with the number of the row: in it, rows lie by the hash of their key."""
EVERY = 0.01  # s between looks at memory
LOOKING = 0.3  # s that this takes, at least


@dataclass(frozen=True)
class Slice:
    """What a slice found; exax would take a tuple apart.

    Parameters
    ----------
    places : array of int64
        Numbers of the rows; or keys of the groups.
    values : array of float64
        Of the new column; or sums, groups × columns.
    counts : array of int64
        Rows of each group; empty for a new column.
    timed : Timed
        Its own processor time in place of `busy`, in s; that of the whole machine in place of `others`.
    """

    places: IntArray
    values: FloatArray
    counts: IntArray
    timed: Timed


@dataclass
class Together:
    """What the slices of a job share.

    Parameters
    ----------
    barrier : Barrier
        Of `multiprocessing`, for all slices.
    more : Value
        Of `multiprocessing`, an int: whether there is one more repeat.
    began : float
        When the job did, as of `time.monotonic`.
    """

    barrier: Any
    more: Any
    began: float


def of_slice(
    rows: Dataset, sliceno: int, transformation: str, columns: Sequence[str], rng: np.random.Generator
) -> Any:
    """Do the work with one slice.

    Parameters
    ----------
    rows : Dataset
        The table.
    sliceno : int
        Number of the slice.
    transformation : str
        Which.
    columns : sequence of str
        All columns but the key.
    rng : numpy.random.Generator
        Random numbers of this slice alone.

    Returns
    -------
    array or dict
        The new column; or by key the number of rows and the sums. All rows of a key are in one slice.
    """
    if transformation == APPLY:
        random = rng.random
        return np.array([x + ADDED + random() for x in rows.iterate(sliceno, X)])
    if transformation == COLUMN:
        x = np.fromiter(rows.iterate(sliceno, X), np.float64, rows.lines[sliceno])
        return x + ADDED + rng.random(len(x))
    found: dict[int, list[float]] = {}
    for key, *values in rows.iterate(sliceno, [KEY, *columns]):
        sums = found.get(key)
        if sums is None:
            found[key] = [1, *values]
        else:
            found[key] = [a + b for a, b in zip(sums, (1, *values))]
    return found


def measure_slice(
    rows: Dataset,
    sliceno: int,
    transformation: str,
    columns: Sequence[str],
    generator: Callable[[], np.random.Generator],
    repeats: int,
    limit: float,
    together: Together,
) -> Slice:
    """Do the work several times, each time together with the other slices, and once more for its memory.

    Parameters
    ----------
    rows, sliceno, transformation, columns
        As of `of_slice`.
    generator : callable
        Gives the random numbers of this slice, from the first on.
    repeats : int
        How often it is timed, at least.
    limit : float
        Seconds to wait for the other slices.
    together : Together
        What slices share.

    Returns
    -------
    Slice
    """

    def work() -> Any:
        return of_slice(rows, sliceno, transformation, columns, generator())

    timed = Timed()
    together.barrier.wait(limit)
    timed.start = time.monotonic() - together.began
    own, every = time.process_time(), busy_seconds()
    while together.more.value:
        together.barrier.wait(limit)
        before = time.perf_counter()
        work()
        together.barrier.wait(limit)
        timed.seconds.append(time.perf_counter() - before)
        if sliceno == 0:
            together.more.value = again(timed.seconds, repeats)
        together.barrier.wait(limit)
    timed.busy = time.process_time() - own
    after = busy_seconds()
    timed.others = None if every is None or after is None else after - every
    found, timed.peak = _with_memory(work)
    return _arrays(found, rows, sliceno, transformation, columns, timed)


def timed_together(slices: Sequence[Slice]) -> Timed:
    """What all slices measured, as one.

    Parameters
    ----------
    slices : sequence of Slice
        In the order of their numbers.

    Returns
    -------
    Timed
    """
    first = slices[0].timed
    made = Timed(max(each.timed.start for each in slices), first.seconds)
    wall, own = sum(first.seconds), sum(each.timed.busy or 0.0 for each in slices)
    if wall >= LEAST:
        made.busy = own / wall
        if first.others is not None:
            made.others = max(0.0, (first.others - own) / wall)
    peaks = [each.timed.peak for each in slices if each.timed.peak is not None]
    made.peak = sum(peaks) if len(peaks) == len(slices) else None
    return made


def whole(
    slices: Sequence[Slice], transformation: str, rows: int, groups: int, columns: int
) -> tuple[FloatArray | None, Aggregates | None]:
    """Put the results of slices together.

    Parameters
    ----------
    slices : sequence of Slice
        All of them.
    transformation : str
        Which.
    rows, groups, columns : int
        Size of the table; columns without the key.

    Returns
    -------
    values : array, shape (rows,), or None
        The new column, in the order of the table.
    aggregates : Aggregates or None
        Counts and sums.
    """
    if transformation != GROUPS:
        values = np.full(rows, np.nan)
        for each in slices:
            values[each.places] = each.values
        return values, None
    made = Aggregates(np.zeros(groups, np.int64), np.zeros((groups, columns)))
    for each in slices:
        made.counts[each.places] = each.counts
        made.sums[each.places] = each.values
    return None, made


def _arrays(
    found: Any, rows: Dataset, sliceno: int, transformation: str, columns: Sequence[str], timed: Timed
) -> Slice:
    none = np.zeros(0, np.int64)
    if transformation != GROUPS:
        places = np.fromiter(rows.iterate(sliceno, ROW), np.int64, rows.lines[sliceno])
        return Slice(places, found, none, timed)
    keys, numbers = np.array(list(found), np.int64), np.array(list(found.values()), np.float64)
    if not len(keys):
        return Slice(keys, np.zeros((0, len(columns))), none, timed)
    return Slice(keys, numbers[:, 1:], numbers[:, 0].astype(np.int64), timed)


def _with_memory(work: Callable[[], Any]) -> tuple[Any, int | None]:
    """Do it while a thread looks at the memory of this process."""
    peaks: list[int] = []
    over = threading.Event()

    def look() -> None:
        while True:
            peaks.extend(filter(None, (memory(os.getpid()),)))
            if over.wait(EVERY):
                return

    thread, until = threading.Thread(target=look), time.monotonic() + LOOKING
    thread.start()
    try:
        found = work()
        while time.monotonic() < until:
            found = None  # before there is another one
            found = work()
    finally:
        over.set()
        thread.join()
    return found, max(peaks, default=None)
