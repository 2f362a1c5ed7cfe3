"""What a unit costs on an engine is what the work alone does not explain; peers compute all of it."""

from __future__ import annotations

import hashlib
import time
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from benchmarks.engines_overhead import COUNTERPARTS, TARGETS, floor_seconds, overhead
from benchmarks.engines_plain import PEERS, is_there, plain
from benchmarks.engines_project import ENGINES
from benchmarks.engines_spin import bytes_for, spin
from benchmarks.engines_tables import tables_of_overhead
from benchmarks.measure import spread


def test_overhead_is_what_the_work_does_not_explain() -> None:
    # 100,000 units of 1 ms on two workers take 50 s by themselves.
    assert overhead(51.5, 100_000, 0.5e-3) == pytest.approx(15)
    assert overhead(50.0, 100_000, 0.5e-3) == pytest.approx(0)
    assert overhead(49.0, 100_000, 0.5e-3) == pytest.approx(-10)


@pytest.mark.parametrize(("workers", "units"), [(1, 5), (2, 10), (2, 9)])
def test_plain_forks_share_the_units(workers: int, units: int) -> None:
    each = floor_seconds(workers, units, lambda unit: time.sleep(0.02))
    assert 0.02 / workers <= each < 0.2 / workers


def test_a_fork_that_is_slower_counts_by_its_own_speed() -> None:
    """One of 10 ms and one of 30 ms a unit do four units in 30 ms."""
    number = get_context("fork").Value("i", 0)
    pause: list[float] = []

    def work(unit: int) -> None:
        if not pause:  # the first call in this fork
            with number.get_lock():
                pause.append((0.01, 0.03)[number.value])
                number.value += 1
        time.sleep(pause[0])

    assert 0.0075 <= floor_seconds(2, 20, work) < 0.015


def test_a_plain_fork_that_fails_is_no_measurement(capfd: pytest.CaptureFixture[str]) -> None:
    def fail(unit: int) -> None:
        raise ZeroDivisionError("no luck")

    with pytest.raises(RuntimeError, match="fork failed"):
        floor_seconds(1, 2, fail)
    assert "no luck" in capfd.readouterr().err


def test_a_buffer_takes_about_as_long_as_asked_for() -> None:
    size = bytes_for(2e-3)
    taken = []
    for unit in range(20):
        start = time.perf_counter()
        assert spin(unit, size) == unit
        taken.append(time.perf_counter() - start)
    assert min(taken) == pytest.approx(2e-3, rel=0.5)


@pytest.mark.parametrize("peer", [name for name in PEERS if name.startswith("Pool")])
def test_a_peer_computes_every_unit(peer: str) -> None:
    found = plain(peer, 2, 40, {"size": 10})
    assert found["content"] == hashlib.sha256(np.arange(40).tobytes()).hexdigest()
    assert found["seconds"] > 0
    assert found["start"] > 0


def test_a_peer_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"Pool.*(\n.*)*none\.npy"):
        plain("Pool.imap_unordered, large chunks", 1, 2, {"work": "train", "file": "none.npy"})


def test_every_engine_has_a_target_and_plain_use_beside_it() -> None:
    assert TARGETS.keys() == COUNTERPARTS.keys() == ENGINES.keys()
    assert {*COUNTERPARTS.values()} <= PEERS.keys()
    assert is_there("")
    assert not is_there("no_such_library")


def test_tables_compare_runs_with_each_other_and_say_what_is_left_out() -> None:
    def found(units: int, each: list[float], over: list[float]) -> dict[str, Any]:
        times = {"start": spread([0.1]), "each": spread(each), "fits": spread([0.4])}
        return {"units": units, "overhead": spread(over), **times}

    result = {
        "workers": 2,
        "fits": 500,
        "unit_ms": spread([1.0]),
        "left_out": {"ray": "ray is not installed", "Ray: a task a unit, ray.get": "ray is not installed"},
        "engines": {
            "slices": found(1000, [510.0, 1020.0], [9.0, 11.0]),
            "joblib": found(1000, [530.0, 530.0], [30.0, 30.0]),
        },
        "plain": {COUNTERPARTS["slices"]: found(1000, [1020.0, 2040.0], [20.0, 20.0])},
    }
    engines, peers, fits = tables_of_overhead(result)
    slices, joblib, ray = engines["rows"]
    assert slices[3:] == ["10.0 µs (9.00–11.0)", "10 µs", "yes", "20.0 µs (20.0–20.0)", "0.500 (0.500–0.500)"]
    assert joblib[4:] == ["20 µs", "no", "–", "–"]
    assert ray[:2] == ["ray", "left out: ray is not installed"]
    assert peers["rows"][1][:2] == ["Ray: a task a unit, ray.get", "left out: ray is not installed"]
    assert fits["rows"] == [["slices", "0.400 s (0.400–0.400)"], ["joblib", "0.400 s (0.400–0.400)"]]
    for table in (engines, peers, fits):
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}
