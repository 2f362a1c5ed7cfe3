"""Record the phases and units of a job that is repeated: their times, and what a profiler keeps."""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from shortloop.units.messages import UnitsDone
from shortloop.units.process_ends import queued_seconds

TIMES = "times.jsonl"  # in the folder of what is recorded: times of phases and units, a line each
UNIT = "unit"
Compute = Callable[[Sequence[bytes]], tuple[UnitsDone, float]]
Recorder = Callable[[str], AbstractContextManager[None]]
"""Makes the context in which a phase of a job is recorded."""


class Timed(NamedTuple):
    """Time that one process took for a phase or a unit."""

    phase: str  # of the job; UNIT for a unit
    process: int
    name: str  # of the unit
    began: float  # seconds since 1970
    seconds: float
    # Of a phase; that of each unit would take longer to ask for than some units take.
    cpu: float = 0.0  # seconds of a core, of all threads
    thread: float = 0.0  # seconds of a core, of the thread that computes
    queued: float = 0.0  # seconds in which the first thread waited for a core


def recorder_of(order: Sequence[str], folder: Path) -> Recorder:
    """The recorder that is named by its module, function and arguments."""
    module, name, *arguments = order
    return cast("Recorder", getattr(importlib.import_module(module), name)(folder, *arguments))


@contextmanager
def timed(folder: Path, phase: str, name: str = "") -> Iterator[None]:
    """Note the time that this process takes for the block."""
    clocks = _clocks if phase != UNIT else lambda: (time.perf_counter(),)
    began, before = time.time(), clocks()
    try:
        yield
    finally:
        took = [now - then for now, then in zip(clocks(), before, strict=True)]
        line = json.dumps(Timed(phase, os.getpid(), name, began, *took))
        with open(folder / TIMES, "a", encoding="utf-8") as stream:  # one write a line: processes append
            stream.write(f"{line}\n")


def read_times(folder: Path) -> list[Timed]:
    lines = (folder / TIMES).read_text(encoding="utf-8").splitlines()
    return [Timed(*json.loads(line)) for line in lines]


def time_units(space: dict[str, object], folder: Path) -> None:
    """Time the units that a module computes, which has these names."""
    original: Any = space["computed"]

    def computed(stage: Any, unit: int) -> Any:
        with timed(folder, UNIT, stage.unit_name(unit)):
            return original(stage, unit)

    space["computed"] = computed


def recorded_batches(compute: Compute, order: Sequence[str], folder: Path) -> Compute:
    """Record batches of units in a process beside those of the job; what is recorded comes with them."""
    folder = folder / "recorded"
    folder.mkdir()
    recorder = recorder_of(order, folder)
    time_units(cast("Any", compute).__func__.__globals__, folder)  # its module may be loaded once more

    def compute_recorded(units: Sequence[bytes]) -> tuple[UnitsDone, float]:
        with timed(folder, "analysis"), recorder("analysis"):
            done, seconds = compute(units)
        done["recorded"] = {file.name: file.read_bytes() for file in folder.iterdir()}
        for file in folder.iterdir():
            file.unlink()
        return done, seconds

    return compute_recorded


def _clocks() -> tuple[float, ...]:
    return time.perf_counter(), time.process_time(), time.thread_time(), queued_seconds()
