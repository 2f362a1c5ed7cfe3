"""Limits of a machine; what bounds a job or a run, from its record or the times of its processes."""

from __future__ import annotations

import math
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortloop.base.errors import TransientError
from shortloop.profile import limits
from shortloop.profile.flame_graph import Frame, flame_graph, frame_of_calls, frame_of_stacks
from shortloop.profile.job_speed import JobSpeed, speed_rows
from shortloop.profile.job_times import FINISH, PREPARE, UNITS, Calls, JobTimes
from shortloop.profile.limits import Limits, kept_limits, measure
from shortloop.profile.run_times import BuiltJob, RunTimes
from shortloop.units.recording import Timed


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project in a folder of its own, and measurements that take a moment."""
    for name, value in (("LEAST", 0.02), ("COPIED", 4_000_000), ("ON_DISK", 16_000_000), ("SIDE", 64)):
        monkeypatch.setattr(limits, name, value)
    for name in ("cache_directory", "cache_place"):
        monkeypatch.setattr(limits, name, lambda name: tmp_path)
    return tmp_path


def test_limits_are_measured_once_and_kept(quick: Path) -> None:
    assert kept_limits() is None
    told: list[tuple[int, int]] = []
    found = measure(lambda done, total: told.append((done, total)))
    assert told == [(number, len(told)) for number in range(1, len(told) + 1)]
    assert found.processes[0] == 1
    facts = asdict(found)
    assert all(len(facts[name]) == len(found.processes) for name in ("flop", "flop32", "bytes"))
    single = [facts[name] for name in ("disk_write", "disk_read", "fork", "message", "fsync")]
    assert all(0 < each < math.inf for each in [*single, *found.flop, *found.flop32, *found.bytes])
    assert found.message < found.fork < 1
    assert found.others >= 0
    assert kept_limits() == found
    (file,) = quick.glob("*.json")
    file.write_text("{")
    assert kept_limits() is None


def test_a_rate_is_what_numpy_does_in_that_time(quick: Path) -> None:
    calls = np.memmap(quick / "calls", "i8", "w+", shape=(1,))

    def once() -> float:
        calls[0] += 1
        return 2.0

    rate = limits._rate(once, 1)
    assert rate == pytest.approx(2.0 * (calls[0] - 1) / limits.LEAST, rel=0.5)


def test_a_process_that_ends_early_is_told(quick: Path) -> None:
    with pytest.raises(TransientError, match="a process that measures ended early"):
        limits._rate(lambda: exit(3), 1)


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


def job_of(
    units: list[tuple[int, float, float]], prepare: float = 0.1, finish: float = 0.1, **shares: float
) -> JobTimes:
    """A job whose units are of a process, begin and end; shares of their time are those of a core."""
    used = [shares.get(name, usual) for name, usual in (("cpu", 1.0), ("thread", 1.0), ("queued", 0.0))]
    times = [Timed("prepare", 1, "", 0.0, prepare)]
    for number, (process, begin, end) in enumerate(units):
        times.append(Timed("unit", process, f"u{number}", prepare + begin, end - begin))
    last = max(end for *_, end in units)
    for process in {process for process, *_ in units}:
        busy = sum(end - begin for of, begin, end in units if of == process)
        times.append(Timed("analysis", process, "", prepare, busy, *(each * busy for each in used)))
    return JobTimes([*times, Timed("synthesis", 1, "", prepare + last, finish)])


EVEN = [(2, 0.0, 2.0), (3, 0.0, 2.0)]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (job_of(EVEN), "computing units, 91% of the time: units"),
        (job_of(EVEN, cpu=1.9), "threads of libraries, which use 0.9 times"),
        (job_of(EVEN, cpu=0.1, thread=0.1), "waiting, 82%"),
        (job_of(EVEN, cpu=0.4, thread=0.4, queued=0.6), "the machine, 55%"),
        (job_of([(2, 0.0, 0.1), (3, 0.0, 4.0), (4, 0.0, 0.2)]), "idle workers"),
        (job_of(EVEN, prepare=5.0), "prepare, 70%"),
        (job_of(EVEN, finish=9.0), "finish, 81%"),
        (job_of([(2, 0.0, 0.01)], 0.01, 0.01), "nothing"),
    ],
)
def test_the_bottleneck(times: JobTimes, expected: str) -> None:
    assert times.bottleneck(lambda phase: phase).startswith(expected)


def test_units_within_prepare_are_not_counted_twice() -> None:
    alone = JobTimes(
        [
            Timed("unit", 1, "u", 1.0, 3.0),
            Timed("prepare", 1, "", 0.0, 5.0),
        ]
    )
    assert alone.phases == {PREPARE: 2.0, UNITS: 3.0}
    assert not alone.has_workers
    elsewhere = JobTimes([alone.times[0]._replace(process=9), alone.times[1]._replace(seconds=9.0)])
    assert elsewhere.has_workers
    assert elsewhere.bottleneck(str).startswith("the start of workers")
    assert job_of(EVEN).phases == pytest.approx({PREPARE: 0.1, UNITS: 2.0, FINISH: 0.1})


def test_the_critical_path_is_the_longest_chain() -> None:
    def built(name: str, began: float, ended: float, *inputs: str) -> BuiltJob:
        return BuiltJob(name, name, "", began, ended, 0.0, inputs)

    jobs = [
        built("load", 0.5, 1.0),
        built("long", 1.0, 9.0, "load"),
        built("late", 10.0, 12.0, "load"),  # it waited for a core
        built("page", 12.5, 13.0, "long", "late"),
    ]
    times = RunTimes(14.0, {job.job: job for job in jobs})
    assert [step.job.job for step in times.critical_path] == ["load", "long", "page"]
    assert times.waited(jobs[2]) == 9.0
    assert times.idle == [(0.0, 0.5), (9.0, 10.0), (12.0, 12.5), (13.0, 14.0)]


def inner(n: int) -> int:
    return inner(n - 1) if n else sum(i * i for i in range(20_000))


def outer() -> int:
    return inner(3) + sum(inner(0) for _ in range(3))


def test_a_flame_graph_of_calls_holds_no_more_than_was_taken(tmp_path: Path) -> None:
    from cProfile import Profile

    profile = Profile()
    profile.runcall(outer)
    file = tmp_path / "analysis-1.prof"
    profile.dump_stats(str(file))
    calls = Calls([file])
    whole = frame_of_calls(calls)
    total = sum(each[2] for each in calls.stats[UNITS].stats.values())
    assert whole.size == pytest.approx(total)

    def check(frame: Frame) -> None:
        assert sum(each.size for each in frame.calls) + frame.own <= frame.size * (1 + 1e-9) + 1e-12
        for each in frame.calls:
            check(each)

    check(whole)
    assert re.match(r"100% in .*test_limits", calls.main(UNITS))
    page = flame_graph(whole, "a </script> title", "what & why")
    assert page.count("</script>") == 1
    assert "a &lt;/script&gt; title" in page


def test_stacks_are_added_up() -> None:
    a, b, c = (("~", 0, name) for name in "abc")
    whole = frame_of_stacks({(a, b): 2.0, (a, c): 1.0, (a,): 0.5})
    (of_a,) = whole.calls
    assert (whole.size, of_a.size, of_a.own) == (3.5, 3.5, 0.5)
    assert {each.name: each.size for each in of_a.calls} == {"b": 2.0, "c": 1.0}
