"""A mistake on purpose: random numbers of NumPy's global state, which every fork has a copy of."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.frames.runners.pandas_parts import OfParts, one_thread
from shortloop.frames.work import ADDED, X

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.frames.work import Work

__all__ = ["RUNNER", "ForkTrap"]

PATIENCE = 60.0  # s that a worker waits for the others
_others: Any = None  # what workers meet at


class ForkTrap(OfParts):
    """Forks that draw the same numbers as each other. It takes two of them, and two files, to see it."""

    def start(self) -> None:
        """As of `Runner`."""
        one_thread()
        np.random.seed(self.work.seed)  # noqa: NPY002  the mistake

    def parts(self, transformation: str, parts: Sequence[int]) -> list[Any]:
        """As of `OfParts`. Each worker has its share: else it is chance whether there is work for all."""
        workers = min(self.work.workers, len(parts))
        forks = multiprocessing.get_context("fork")
        shares = [parts[worker::workers] for worker in range(workers)]
        with forks.Pool(workers, _begin, (forks.Barrier(workers),)) as pool:
            done = pool.map(partial(_of_parts, self.work), shares, chunksize=1)
        found = {part: each for share, given in zip(shares, done) for part, each in zip(share, given)}
        return [found[part] for part in parts]


def _begin(others: Any) -> None:
    global _others
    _others = others


def _of_parts(work: Work, parts: Sequence[int]) -> list[pd.Series]:
    _others.wait(PATIENCE)  # so that no worker takes the share of another
    return [_of_part(work, part) for part in parts]


def _of_part(work: Work, part: int) -> pd.Series:
    import pandas as pd

    frame = pd.read_parquet(work.file(part), engine="pyarrow", columns=[X])
    return frame[X] + ADDED + np.random.random(len(frame))  # noqa: NPY002  the mistake


RUNNER = ForkTrap
