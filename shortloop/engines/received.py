"""What counts of the batches that come from an engine: a process says once what it is, loaded and read."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from shortloop.engines.messages import UnitsDone
from shortloop.jobs.keys.file_state import file_state

__all__ = ["Received", "has_read_what_is_there"]


class Received:
    """Batches of a job. One counts as soon as all counted that its process computed before.

    Parameters
    ----------
    is_usable : callable
        Whether a batch that was computed before the job began counts, and those that its process computed
        after it.
    """

    def __init__(self, is_usable: Callable[[UnitsDone], bool]) -> None:
        self._is_usable = is_usable
        self._next: dict[str, int] = defaultdict(int)
        self._waiting: dict[tuple[str, int], tuple[UnitsDone, bool]] = {}

    def add(self, done: UnitsDone, early: bool) -> Iterator[UnitsDone]:
        """A batch came.

        Parameters
        ----------
        done : UnitsDone
            It.
        early : bool
            Whether it was computed before the job began.

        Yields
        ------
        UnitsDone
            Batches that count, in the order in which their process computed them.
        """
        process = done["process"]
        self._waiting[process, done["number"]] = done, early
        while (found := self._waiting.get((process, self._next[process]))) is not None:
            if found[1] and not self._is_usable(found[0]):
                return
            del self._waiting[process, self._next[process]]
            self._next[process] += 1
            yield found[0]


def has_read_what_is_there(done: UnitsDone) -> bool:
    """Whether the files that units have opened, and that nobody has declared, are still as they were then.

    Parameters
    ----------
    done : UnitsDone
        What came of a batch.

    Returns
    -------
    bool
        False, too, if they may have changed in the moment when they were opened.
    """
    lines = [json.loads(line) for line in done["notes"].splitlines()]
    opened = [line for line in lines if "opened" in line]
    try:
        states = [file_state(Path(line["opened"]))[0] for line in opened]
        return all(line["settled"] and line["state"] == state for line, state in zip(opened, states))
    except OSError:
        return False
