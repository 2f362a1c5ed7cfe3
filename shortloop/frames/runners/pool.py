"""multiprocessing.Pool: pandas in forks of the process."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from functools import partial
from typing import Any

from shortloop.frames.runners.pandas_parts import OfParts, of_part, one_thread

__all__ = ["RUNNER", "Pool"]


class Pool(OfParts):
    """Forks that are kept."""

    def start(self) -> None:
        """As of `Runner`."""
        one_thread()
        self._pool = multiprocessing.get_context("fork").Pool(self.work.workers)

    def parts(self, transformation: str, parts: Sequence[int]) -> list[Any]:
        """As of `OfParts`."""
        return self._pool.map(partial(of_part, self.work, transformation), parts, chunksize=1)

    def close(self) -> None:
        """As of `Runner`."""
        self._pool.terminate()
        self._pool.join()


RUNNER = Pool
