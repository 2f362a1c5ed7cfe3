"""A batch counts as soon as all do that its process computed before, which say what that has loaded."""

from __future__ import annotations

import random

import pytest

from shortloop.units.client import Received
from shortloop.units.messages import UnitsDone


def batch(process: str, number: int) -> UnitsDone:
    return {"process": process, "number": number, "units": [], "values": []}


def names(found: list[UnitsDone]) -> list[str]:
    return [f"{each['process']}{each['number']}" for each in found]


def test_they_count_in_the_order_of_their_process() -> None:
    received = Received()
    came = [received.add(batch(process, number)) for process, number in [("a", 1), ("b", 0)]]
    assert [names([*each]) for each in came] == [[], ["b0"]]
    assert names([*received.add(batch("a", 0))]) == ["a0", "a1"]
    assert names([*received.add(batch("b", 2))]) == []


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_order_in_which_they_come(seed: int) -> None:
    rng = random.Random(seed)
    sent = [(process, number) for process in "abc" for number in range(9)]
    lost = rng.choice(sent)
    sent.remove(lost)
    rng.shuffle(sent)
    received = Received()
    found = [each for which in sent for each in names([*received.add(batch(*which))])]
    wanted = {f"{process}{number}" for process, number in sent if process != lost[0] or number < lost[1]}
    assert {*found} == wanted
    assert len(found) == len(wanted)
    for process in "abc":
        of_process = [each for each in found if each[0] == process]
        assert of_process == sorted(of_process)
