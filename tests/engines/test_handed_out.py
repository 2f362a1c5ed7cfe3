"""A batch is handed out a second time when it is late, not while it waits behind others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from shortloop.engines.handed_out import BACKLOG, LATE, HandedOut
from shortloop.units.messages import Reply
from shortloop.units.queue import Batches


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("outage", [0.0, 30.0])
def test_what_waits_behind_others_is_not_late(clock: list[float], outage: float) -> None:
    """Units of a second for one worker, which computes them in their order, and may be away for a while."""
    batches = Batches({b"%d" % number: 1.0 for number in range(24)}, 1)
    out: HandedOut[int] = HandedOut(batches)
    supplies: Any = None
    again, key = 0, 0
    waiting: list[int] = []
    while not out.is_over or not key:
        while out.has_room(1, 2, elastic=True) and (batch := out.next()) is not None:
            again += bool(batch.keys)
            out.add(key, batch)
            waiting.append(key)
            key += 1
        clock[0] += 1.0
        if key >= 12:
            clock[0], outage = clock[0] + outage, 0.0
        first = waiting.pop(0)
        units = out._out[first].units
        batches.done(units, float(len(units)))
        out.came(first, Reply(1.0, b"done"), supplies)
    assert again <= (clock[0] > 24)


def test_what_a_frozen_worker_has_is_handed_out_again(clock: list[float]) -> None:
    batches = Batches({b"%d" % number: 1.0 for number in range(4)}, 2)
    out: HandedOut[int] = HandedOut(batches)
    given = []
    for key in range(4):
        assert out.has_room(2, 2, elastic=True)
        given.append(out.next())
        assert given[-1] is not None
        out.add(key, given[-1])
    batches.done(given[0].units, 1.0)  # type: ignore[union-attr]
    out.came(0, Reply(1.0, b"done"), None)  # type: ignore[arg-type]
    clock[0] = LATE
    assert out.next() is None
    clock[0] = LATE + BACKLOG
    late = out.next()
    assert late is given[1]


def test_batches_of_stopped_workers_fill_no_room(clock: list[float]) -> None:
    """They come again, and once more if that worker is stopped as well."""
    batches = Batches({b"%d" % number: 1.0 for number in range(5)}, 2)
    out: HandedOut[int] = HandedOut(batches)
    for key in range(5):
        batch = out.next()
        assert batch is not None
        out.add(key, batch)
    batches.done(out._out[0].units, 1.0)
    out.came(0, Reply(1.0, b"done"), None)  # type: ignore[arg-type]
    assert not out.has_room(2, 2, elastic=False)
    key, seen = 5, Counter[bytes]()
    for _ in range(100):
        clock[0] += 1.0
        while out.has_room(2, 2, elastic=False) and (batch := out.next()) is not None:
            out.add(key, batch)
            seen.update(batch.units)
            key += 1
    assert len(seen) == 4
    assert min(seen.values()) >= 2
    out.came(key - 1, Reply(1.0, b"done"), None)  # type: ignore[arg-type]
    assert len(out.superfluous()) >= 2
    assert len(out.batches()) == 3
