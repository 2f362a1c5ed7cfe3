"""Units that keep a core busy for about a millisecond, and the stage that is made of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from functools import lru_cache

from shortloop.stages.stage import Out, Stage

TRIED = 200  # hashes of this many bytes, to see how long they take
TRIED_BYTES = 1_000_000


def spin(unit: int, size: int) -> int:
    """Hash a buffer."""
    hashlib.sha256(_buffer(size)).digest()
    return unit


def bytes_for(seconds: float) -> int:
    """Size of a buffer that takes about so long to hash, on this machine."""
    buffer = _buffer(TRIED_BYTES)
    taken = []
    for _ in range(TRIED):
        start = time.perf_counter()
        hashlib.sha256(buffer).digest()
        taken.append(time.perf_counter() - start)
    return max(1, round(TRIED_BYTES * seconds / min(taken)))  # the least: nothing was in its way


@lru_cache(maxsize=1)
def _buffer(size: int) -> bytes:
    return bytes(size)


class Spin(Stage):
    """Units of `spin`."""

    count: int
    size: int
    number: int  # tells jobs apart, so that each is built

    def units(self) -> int:
        """As many as were asked for."""
        return self.count

    def outputs(self) -> dict[str, Out]:
        """A number for each unit."""
        return {"values": Out((self.count,), "i8", "units", "number of the unit")}

    def compute(self, unit: int) -> Mapping[str, int]:
        """Hash a buffer."""
        return {"values": spin(unit, self.size)}
