"""What bounds a job or a run, from the times of its processes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shortloop.profile.flame_graph import Frame, flame_graph, frame_of_calls, frame_of_stacks
from shortloop.profile.job_times import FINISH, PREPARE, UNITS, Calls, JobTimes
from shortloop.profile.run_times import BuiltJob, RunTimes
from shortloop.units.recording import Timed


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
    assert re.match(r"100% in .*test_job_times", calls.main(UNITS))
    page = flame_graph(whole, "a </script> title", "what & why")
    assert page.count("</script>") == 1
    assert "a &lt;/script&gt; title" in page


def test_stacks_are_added_up() -> None:
    a, b, c = (("~", 0, name) for name in "abc")
    whole = frame_of_stacks({(a, b): 2.0, (a, c): 1.0, (a,): 0.5})
    (of_a,) = whole.calls
    assert (whole.size, of_a.size, of_a.own) == (3.5, 3.5, 0.5)
    assert {each.name: each.size for each in of_a.calls} == {"b": 2.0, "c": 1.0}
