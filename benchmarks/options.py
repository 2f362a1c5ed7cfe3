"""What a benchmark was asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Options", "cores"]


@dataclass(frozen=True)
class Options:
    """What all parts are given.

    Parameters
    ----------
    folder : Path
        Where results go; simulated data and copies of the project, too.
    participants : int
        Of the workload.
    runs : int
        Repetitions; every figure is the median over them.
    quick : bool
        Tiny sizes, to check the benchmark itself.
    """

    folder: Path
    participants: int = 18
    runs: int = 3
    quick: bool = False


def cores() -> int:
    """Number of cores that this process may use.

    Returns
    -------
    int
    """
    return len(os.sched_getaffinity(0))
