"""What bounds a finished job, from its record alone, and what it achieved of what the machine can do."""

from __future__ import annotations

from typing import Any

import pytest

from shortloop.profile.job_speed import JobSpeed, speed_rows
from shortloop.profile.limits import Limits

LIMITS = Limits("a machine", 1.0, [1, 2], [10e9, 20e9], [20e9, 40e9], [30e9, 32e9])


def speed(busy: tuple[float, ...], alone: float = 0.1, **facts: Any) -> JobSpeed:
    """A job of units in processes that were busy for so long, the longest of them until the end."""
    parallel = max(busy, default=0.0)
    cpu = facts.pop("cpu", 1.0)  # of the time that processes were busy
    queued = facts.pop("queued", 0.0)
    work = {"units": 10, "of": 10, **facts} if busy else {}
    computed, waited = (tuple(share * each for each in busy) for share in (cpu, queued))
    whole = alone + sum(computed)
    workers = max(len(busy), 1)
    return JobSpeed(alone + parallel, alone, parallel, busy, computed, waited, workers, whole, work, {}, 1)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (speed((2.0, 2.0)), "computing units, 95%"),
        (speed((2.0, 2.0), cpu=0.05), "waiting, 90%"),
        (speed((2.0, 2.0), cpu=0.2, queued=0.7), "the machine, 67%"),
        (speed((4.0, 0.2, 0.3)), "idle workers, 61%"),
        (speed((2.0, 2.0), alone=5.0), "one process alone, 71%"),
        (speed((2.0, 2.0), cpu=3.0), "threads of libraries, which use 3.0 cores"),
        (speed((0.01, 0.01), alone=0.01), "nothing"),
        (speed((), alone=2.0), "one process, which computes"),
        (speed((2.0, 2.0), bytes=60e9), "memory bandwidth: 94%"),
        (speed((2.0, 2.0), flop=30e9), "arithmetic: 75%"),
        (speed((2.0, 2.0), flop32=30e9), "computing units"),
    ],
)
def test_the_bound(job: JobSpeed, expected: str) -> None:
    assert job.bound(LIMITS).startswith(expected)


def test_rates_are_of_the_units_that_were_computed() -> None:
    job = speed((2.0, 1.0), flop=8e9)
    assert job.rate("flop") == 4e9
    assert JobSpeed(**{**vars(job), "work": {**job.work, "units": 5}}).rate("flop") == 2e9
    assert job.rate("bytes") is None
    resumed = JobSpeed(**{**vars(job), "work": {**job.work, "resumed": 3}})
    assert dict(speed_rows(resumed, None))["units"].endswith("; 3 resumed from an interrupted run")
    assert job.attainable("flop", LIMITS) == 20e9
    assert speed((2.0,)).attainable("flop", LIMITS) == 10e9
    assert speed((1.0,) * 64).attainable("bytes", LIMITS) == 32e9


def test_idle_and_serial_shares() -> None:
    job = speed((4.0, 2.0, 0.0), alone=1.5)
    assert job.idle == pytest.approx(0.5)
    assert job.imbalance == pytest.approx(2.0)
    assert job.serial == pytest.approx(0.2)  # 1.5 of 7.5
    assert job.amdahl(1) == pytest.approx(1.0)
    assert job.amdahl(100) == pytest.approx(1 / (0.2 + 0.8 / 100))
    assert job.waiting == pytest.approx(0.0)


def test_what_is_told_of_a_job() -> None:
    rows = dict(speed_rows(speed((2.0, 2.0), flop=30e9), LIMITS))
    assert rows["units"].startswith("10 in 2.1 s: 4.762 a second")
    assert rows["arithmetic"].startswith("15 GFLOP/s, 75% of 20 in 2 processes, measured on a machine")
    assert "limits" in dict(speed_rows(speed((2.0, 2.0), flop=30e9), None))["arithmetic"]
    assert dict(speed_rows(speed((), alone=0.0), None))["bound by"].startswith("nothing")
