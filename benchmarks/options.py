"""What a benchmark was asked for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """What all parts are given.

    folder: where results go; simulated data and copies of the project, too.
    participants: of the workload.
    runs: Repetitions; every figure is the median over them.
    quick: tiny sizes, to check the benchmark itself.
    against: a commit that the part ``loop`` compares with; "": none.
    cases: groups of cases of the part ``loop``; empty: all.
    """

    folder: Path
    participants: int = 18
    runs: int = 3
    quick: bool = False
    against: str = ""
    cases: tuple[str, ...] = ()


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
