"""A mistake on purpose: random numbers of NumPy's global state, which every fork has a copy of."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shortloop.frames.runners.pandas_parts import one_thread
from shortloop.frames.runners.pool import Pool
from shortloop.frames.work import ADDED, X

if TYPE_CHECKING:
    import pandas as pd

    from shortloop.frames.work import Work

__all__ = ["RUNNER", "ForkTrap"]


class ForkTrap(Pool):
    """Forks that draw the same numbers as each other. More files than one are needed to see it."""

    def start(self) -> None:
        """As of `Runner`."""
        import pandas as pd  # noqa: F401  imported once, for all forks

        one_thread()
        np.random.seed(self.work.seed)  # noqa: NPY002  the mistake
        # A fork for each file: else it is chance whether forks are at the same place of the same numbers.
        self._pool = multiprocessing.get_context("fork").Pool(self.work.workers, maxtasksperchild=1)

    def parts(self, transformation: str, parts: Sequence[int]) -> list[Any]:
        """As of `OfParts`."""
        return self._pool.map(partial(_of_part, self.work), parts, chunksize=1)


def _of_part(work: Work, part: int) -> pd.Series:
    import pandas as pd
    import pyarrow  # noqa: F401  which reads the file

    frame = pd.read_parquet(work.file(part), engine="pyarrow", columns=[X])
    return frame[X] + ADDED + np.random.random(len(frame))  # noqa: NPY002  the mistake


RUNNER = ForkTrap
