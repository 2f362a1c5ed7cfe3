"""Units of coming jobs are handed out after those of jobs before, in few batches, and wait for their job."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from shortloop.engines.ahead import Ahead
from shortloop.engines.batches import Batches
from shortloop.engines.engine import Computed, Engine
from shortloop.engines.messages import Later, Reply, Work
from shortloop.engines.supply import Sent, Supplies
from shortloop.plain import Plain

Compute = Callable[[str, list[int]], Reply]
BEGIN = [-1]


def numbers(units: list[bytes]) -> list[int]:
    return [int(unit) if unit else -1 for unit in units]


def costs(count: int) -> dict[bytes, float]:
    return {b"%d" % unit: 1.0 for unit in range(count)}


class Threads(Engine):
    """Threads that compute what the test says."""

    message = 0.0

    def __init__(self, compute: Compute, workers: int = 2) -> None:
        self.pool = ThreadPoolExecutor(workers)
        self.number = workers
        self.seen: list[tuple[str, list[int]]] = []
        self._compute = compute

    def workers(self, asked: Mapping[str, Plain]) -> int:
        return self.number

    def shares(self, asked: Mapping[str, Plain]) -> bool:
        return not asked.get("alone")

    def compute(
        self, supplies: Supplies, batches: Batches[bytes], asked: Mapping[str, Plain]
    ) -> Iterator[Computed]:
        what = supplies.work.what
        out: dict[Future[Reply], list[bytes]] = {}
        while True:
            while len(out) < 2 * self.number and (units := batches.next()):
                self.seen.append((what, numbers(units)))
                out[self.pool.submit(self._compute, what, numbers(units))] = units
            if not out:
                return
            for done in wait(out, return_when=FIRST_COMPLETED).done:
                yield Computed(out.pop(done), done.result())

    def described(self) -> dict[str, Plain]:
        return {}

    def close(self) -> None:
        self.pool.shutdown()


def job(name: str) -> Work:
    return Work(f"{name} 1", b"", name)


def answers(units: list[int], seconds: float = 0.001, count: int = 20) -> Reply:
    if units == BEGIN:
        return Reply(seconds, b"0", costs=costs(count))
    return Reply(seconds * len(units), ",".join(map(str, units)).encode())


def held(go_on: threading.Event, first: int = 0) -> Compute:
    """Computes units from the first on as soon as they may. Each is a batch, as it takes long."""

    def compute(what: str, units: list[int]) -> Reply:
        if units != BEGIN and units[0] >= first:
            go_on.wait(10)
        return answers(units, seconds=0.6)

    return compute


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., tuple[Ahead, Threads]]]:
    engines: list[Threads] = []

    def begun(compute: Compute, workers: int = 2) -> tuple[Ahead, Threads]:
        engines.append(Threads(compute, workers))
        return Ahead(lambda: engines[-1], tmp_path / "early", Sent(), print), engines[-1]

    yield begun
    for engine in engines:
        engine.close()


Begin = Callable[..., tuple[Ahead, Threads]]


def tell(ahead: Ahead, *names: str, is_next: bool | None = False, over: str = "", **asked: Plain) -> None:
    later = [Later(job(name), name, Path(), [], None) for name in names]
    ahead.coming({"is_next": is_next, "coming": later, "over": [*over], "asked": asked})


def taken(ahead: Ahead, name: str) -> list[int]:
    """Units that were computed early."""
    batches = [*ahead.of(job(name)).batches]
    for batch in batches:
        assert batch.data.decode() == ",".join(map(str, numbers(batch.units)))
    return sorted(unit for batch in batches for unit in numbers(batch.units))


def test_all_of_it_is_there_when_the_job_begins(begin: Begin) -> None:
    ahead, engine = begin(lambda what, units: answers(units))
    tell(ahead, "a", "b")
    until(lambda: sum(len(units) for what, units in engine.seen if units != BEGIN) == 38)
    assert taken(ahead, "a") == taken(ahead, "b") == list(range(20))
    assert [units for what, units in engine.seen].count(BEGIN) == 2
    assert len(engine.seen) == 4  # what takes a moment is one batch
    assert taken(ahead, "a") == []  # it is gone


def test_a_job_that_nobody_told_of_has_nothing(begin: Begin) -> None:
    ahead, _ = begin(lambda what, units: answers(units))
    assert taken(ahead, "a") == []


def test_jobs_before_come_first(begin: Begin) -> None:
    ahead, engine = begin(lambda what, units: answers(units))
    first = Batches(costs(9), [*costs(9)], 2)
    with ahead.after(first):
        tell(ahead, "a")
        time.sleep(0.2)
        assert not engine.seen
        while first.has_next():
            first.done(first.next(), 1.0)
        until(lambda: engine.seen)
    assert taken(ahead, "a")


def test_the_job_that_begins_now_is_waited_for(begin: Begin) -> None:
    ahead, engine = begin(lambda what, units: answers(units))
    tell(ahead, "b", is_next=None)  # the engine was started for a job that has not asked yet
    time.sleep(0.2)
    assert not engine.seen
    assert taken(ahead, "a") == []
    with ahead.after(Batches(costs(0), [], 2)):
        until(lambda: engine.seen)
    tell(ahead, "c", is_next=True)
    seen = len([each for each in engine.seen if each[0] == "c"])
    time.sleep(0.2)
    assert not seen
    tell(ahead, is_next=False)
    until(lambda: [each for each in engine.seen if each[0] == "c"])


def test_workers_that_are_busy_get_no_more(begin: Begin) -> None:
    go_on = threading.Event()
    ahead, engine = begin(held(go_on))
    tell(ahead, *"abcdef")
    until(lambda: len([each for each in engine.seen if each[1] != BEGIN]) >= 4)
    time.sleep(0.2)
    assert {what for what, units in engine.seen if units != BEGIN} == {"a"}
    assert len({what for what, units in engine.seen}) <= 4  # a few are begun
    go_on.set()
    assert taken(ahead, "a") == list(range(20))


def test_a_job_whose_turn_is_over_is_computed_no_further(begin: Begin, tmp_path: Path) -> None:
    go_on = threading.Event()
    ahead, engine = begin(held(go_on))
    tell(ahead, "a", "b")
    until(lambda: len([each for each in engine.seen if each[1] != BEGIN]) >= 4)
    tell(ahead, over="a")
    go_on.set()
    until(lambda: ("b", [19]) in engine.seen)
    assert len([each for each in engine.seen if each[0] == "a"]) <= 6
    assert taken(ahead, "b") == list(range(20))
    until(lambda: not [*(tmp_path / "early").iterdir()])
    assert taken(ahead, "a") == []


def test_many_jobs_need_no_open_files(begin: Begin) -> None:
    ahead, _ = begin(lambda what, units: answers(units))
    before = len(os.listdir("/proc/self/fd"))
    with ahead.after(Batches(costs(9), [*costs(9)], 2)):  # so that none is begun
        tell(ahead, *map(str, range(300)))
        assert len(os.listdir("/proc/self/fd")) < before + 20
        tell(ahead, over="")
        for number in range(300):
            assert taken(ahead, str(number)) == []


def test_one_that_raises_ends_it_and_leaves_the_others_alone(begin: Begin) -> None:
    def compute(what: str, units: list[int]) -> Reply:
        found = answers(units, seconds=0.6)
        return found._replace(failed=True) if what == "a" and units == [7] else found

    ahead, engine = begin(compute)
    tell(ahead, "a", "b")
    until(lambda: ("b", [19]) in engine.seen)
    found = taken(ahead, "a")
    assert 7 not in found
    assert len(found) >= 7
    assert taken(ahead, "b") == list(range(20))


def test_a_stage_that_cannot_be_opened_is_left_to_its_job(begin: Begin) -> None:
    ahead, engine = begin(lambda what, units: Reply(0.0, b"", failed=True) if what == "a" else answers(units))
    tell(ahead, "a", "b")
    until(lambda: len(engine.seen) >= 3)
    assert taken(ahead, "a") == []
    assert taken(ahead, "b") == list(range(20))


@pytest.mark.parametrize("always", [False, True])
def test_a_worker_that_is_lost(begin: Begin, always: bool) -> None:
    lost: list[list[int]] = []

    def compute(what: str, units: list[int]) -> Reply:
        if what == "a" and 7 in units and (always or not lost):
            lost.append(units)
            return Reply(0.0, b"", "a worker ended")
        return answers(units)

    ahead, engine = begin(compute)
    tell(ahead, "a", "b")
    until(lambda: len([each for each in engine.seen if each[0] == "b"]) >= 2)
    found = taken(ahead, "a")
    assert found == [unit for unit in range(20) if unit in found]
    assert (7 in found) is not always
    assert len(lost) == (3 if always else 1)
    assert taken(ahead, "b") == list(range(20))


def test_what_a_run_that_was_cut_off_has_left_is_not_computed_again(begin: Begin) -> None:
    go_on = threading.Event()
    ahead, engine = begin(held(go_on, first=10))
    tell(ahead, "a")
    until(lambda: len(engine.seen) > 12)
    time.sleep(0.1)
    again, other = begin(lambda what, units: answers(units, seconds=0.6))
    tell(again, "a")
    until(lambda: len(other.seen) >= 11)
    assert {*range(1, 10)}.isdisjoint({unit for _, units in other.seen for unit in units})
    assert {*taken(again, "a")} == {*range(20)}
    go_on.set()


def test_an_engine_whose_workers_are_not_shared(begin: Begin) -> None:
    ahead, engine = begin(lambda what, units: answers(units))
    tell(ahead, "a", alone=True)
    time.sleep(0.2)
    assert not engine.seen
    assert taken(ahead, "a") == []


def test_an_engine_that_fails_is_met_by_the_job(begin: Begin) -> None:
    def compute(what: str, units: list[int]) -> Reply:
        if units != BEGIN:
            raise ConnectionError("nobody is there")
        return answers(units)

    ahead, engine = begin(compute)
    tell(ahead, "a")
    until(lambda: len(engine.seen) >= 2)
    assert taken(ahead, "a") == [0]
