"""The process that measures one library: nothing else has run in it, and nothing outlives it.

It says what it finds in lines of JSON, through a pipe of its own, as libraries print what they like.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shortloop.frames.timing import Timed, time_repeats
from shortloop.frames.work import GROUPS, Work

__all__ = ["COUNTS", "SUMS", "VALUES", "main"]

VALUES, COUNTS, SUMS = "values.npy", "counts.npy", "sums.npy"
LOOKING = 0.3  # s that the repeats take, at least, while memory is looked at


def main(asked: str) -> None:
    """Measure, leave the result in the current folder, and wait to be ended.

    Parameters
    ----------
    asked : str
        JSON: ``work`` as of `Work`, ``module``, ``transformation``, ``repeats``, and ``tell``, the pipe.
    """
    began = time.perf_counter()
    _end_with_parent()
    asks: dict[str, Any] = json.loads(asked)
    given = asks["work"]
    work = Work(
        **{
            **given,
            "folder": Path(given["folder"]),
            "rows": tuple(given["rows"]),
            "columns": tuple(given["columns"]),
        }
    )
    with os.fdopen(asks["tell"], "w", encoding="ascii") as told:

        def tell(**found: object) -> None:
            print(json.dumps(found), file=told, flush=True)

        try:
            _measure(asks, work, began, tell)
            tell(done=True)
        except Exception:
            traceback.print_exc()
            tell(failed=True)
        while True:  # what it started is found as long as it is there
            time.sleep(600)


def _measure(asks: dict[str, Any], work: Work, began: float, tell: Callable[..., None]) -> None:
    transformation, parts = asks["transformation"], range(len(work.rows))
    runner = importlib.import_module(asks["module"]).RUNNER(work)
    timed = Timed()
    runner.start()
    runner.run(transformation, parts[: work.workers])
    timed.start = time.perf_counter() - began
    time_repeats(timed, lambda: runner.run(transformation, parts), asks["repeats"])
    tell(timed=timed.plain())
    until, found = time.monotonic() + LOOKING, runner.run(transformation, parts)
    while time.monotonic() < until:
        found = None  # before there is another one
        found = runner.run(transformation, parts)
    tell(looked=True)
    if transformation == GROUPS:
        counts, sums = runner.aggregates(found)
        np.save(COUNTS, counts)
        np.save(SUMS, sums)
    else:
        np.save(VALUES, runner.values(found))
    runner.close()


def _end_with_parent() -> None:
    """End, with all that this process starts, when the one that asked ends: it holds the other end of the
    input until then."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1])
