"""Batches in progress: a late batch is handed out once more when workers are idle."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shortloop.engines.engine import Computed
from shortloop.engines.send_files import Supplies
from shortloop.units.messages import Reply
from shortloop.units.queue import Batches

LATE, TIMES_EXPECTED = 10.0, 3.0  # s, and times as long as expected, after which a batch counts as late
BACKLOG = 12.0  # s of work for each worker, by which an elastic cluster sees that more would be of use
MOST = 40  # batches for each worker

Key = TypeVar("Key", bound=Hashable)


@dataclass
class Batch(Generic[Key]):
    """Units that were handed out together, and the tasks that compute them: several, if it is late."""

    units: list[bytes]
    since: float
    latest: float  # when it was handed out for the last time
    queued: float = 0.0  # s of work that was handed out to each worker before it
    where: str = ""  # the node that it is for; empty: any
    keys: list[Key] = field(default_factory=list)
    is_done: bool = False


class HandedOut(Generic[Key]):
    """Batches by the task that computes each."""

    def __init__(self, batches: Batches[bytes]) -> None:
        self._batches = batches
        self._out: dict[Key, Batch[Key]] = {}
        self._workers = 1
        self._again: list[list[bytes]] = []  # batches that came to a node that lacked something

    def __iter__(self) -> Iterator[Key]:
        return iter(self._out)

    def __contains__(self, key: Key) -> bool:
        return key in self._out

    def batches(self) -> list[Batch[Key]]:
        """Unfinished batches; a batch that is handed out twice counts once."""
        return [*{id(each): each for each in self._out.values() if not each.is_done}.values()]

    def has_room(self, workers: int, ahead: int, elastic: bool) -> bool:
        """True if workers should get another batch, so that none waits for the next."""
        out, self._workers, now = self.batches(), max(workers, 1), time.monotonic()
        if len(out) < ahead * workers or sum(not self._is_late(each, now) for each in out) < ahead * workers:
            return True
        if not elastic or len(out) >= MOST * workers:
            return False
        return self._expected() < BACKLOG * workers

    def next(self, again: bool = True) -> Batch[Key] | None:
        """Return the next batch to hand out, if there is one; at the end, one that is late comes `again`."""
        units = self._again.pop() if self._again else self._batches.next()
        now = time.monotonic()
        if units:
            queued = self._expected() / self._workers
            return Batch(units, now, now, queued if queued < math.inf else 0.0)
        if not again:
            return None
        known = [(each, self._is_late(each, now)) for each in self.batches()]
        if sum(len(each.keys) > 1 and not late for each, late in known) >= self._workers:
            return None  # nobody idles: these wait
        found = [each for each, late in known if late]
        return min(found, key=lambda each: (len(each.keys), each.since), default=None)

    def _is_late(self, batch: Batch[Key], now: float) -> bool:
        """True if the worker that a batch was handed to last has probably ended, or is stopped."""
        patience = max(LATE, TIMES_EXPECTED * self._batches.expected(batch.units))
        return now - batch.latest - batch.queued > len(batch.keys) * patience

    def _expected(self) -> float:
        """Seconds of one worker for all unfinished batches; infinite before any was computed."""
        return sum(self._batches.expected(each.units) for each in self.batches())

    def add(self, key: Key, batch: Batch[Key]) -> None:
        if batch.keys:
            batch.latest, batch.queued = time.monotonic(), 0.0
        batch.keys.append(key)
        self._out[key] = batch

    def superfluous(self) -> list[Key]:
        """Take the tasks of which another task computed the batch."""
        found = [key for key, batch in self._out.items() if batch.is_done]
        for key in found:
            del self._out[key]
        return found

    @property
    def is_over(self) -> bool:
        return not self._again and not self.batches()

    def came(self, key: Key, reply: Reply, supplies: Supplies) -> Computed | None:
        """Take the reply of a task; its units count unless they were there before, or another task has them.

        A batch for which its node lacked something comes again.
        """
        batch = self._out.pop(key)
        batch.keys.remove(key)
        counts = not batch.is_done and not (reply.lost and batch.keys)
        batch.is_done = batch.is_done or counts
        if reply.missing is not None:
            supplies.lacks(reply, batch.since)
            self._again += [batch.units] if counts else []
            return None
        return Computed(batch.units if counts else [], reply) if counts or not reply.lost else None
