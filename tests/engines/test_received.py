"""A batch counts as soon as all do that its process computed before, which say what that has loaded."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest

from shortloop.engines.messages import UnitsDone
from shortloop.engines.received import Received, has_read_what_is_there
from shortloop.jobs.keys.file_state import file_state


def batch(process: str, number: int, notes: bytes = b"") -> UnitsDone:
    return {
        "process": process,
        "number": number,
        "units": [],
        "values": [],
        "cpu_seconds": 0.0,
        "facts": None,
        "threads": [],
        "notes": notes,
        "printed": "",
        "failure": None,
    }


def names(found: list[UnitsDone]) -> list[str]:
    return [f"{each['process']}{each['number']}" for each in found]


def test_they_count_in_the_order_of_their_process() -> None:
    received = Received(lambda done: True)
    came = [received.add(batch(process, number), False) for process, number in [("a", 1), ("b", 0)]]
    assert [names([*each]) for each in came] == [[], ["b0"]]
    assert names([*received.add(batch("a", 0), False)]) == ["a0", "a1"]
    assert names([*received.add(batch("b", 2), False)]) == []


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_order_in_which_they_come(seed: int) -> None:
    rng = random.Random(seed)
    sent = [(process, number) for process in "abc" for number in range(9)]
    lost = rng.choice(sent)
    sent.remove(lost)
    rng.shuffle(sent)
    received = Received(lambda done: True)
    found = [each for which in sent for each in names([*received.add(batch(*which), False)])]
    wanted = {f"{process}{number}" for process, number in sent if process != lost[0] or number < lost[1]}
    assert {*found} == wanted
    assert len(found) == len(wanted)
    for process in "abc":
        of_process = [each for each in found if each[0] == process]
        assert of_process == sorted(of_process)


def test_nothing_counts_that_a_process_computed_after_what_does_not() -> None:
    received = Received(lambda done: done["number"] != 1)
    came = [[*received.add(batch("a", number), number < 3)] for number in range(5)]
    assert [names(each) for each in came] == [["a0"], [], [], [], []]
    late = Received(lambda done: False)  # of what was computed when the job had begun, that is not asked
    assert names([*late.add(batch("a", 0), False)]) == ["a0"]


def test_files_that_were_read_must_be_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "read"
    file.write_text("one", encoding="utf-8")
    state, settled = file_state(file)

    def done(settled: bool) -> UnitsDone:
        lines = [{"loaded": {}}, {"opened": str(file), "state": state, "settled": settled}]
        return batch("a", 0, b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    assert not settled
    assert not has_read_what_is_there(done(settled=False))
    assert has_read_what_is_there(done(settled=True))
    assert has_read_what_is_there(batch("a", 0))
    time.sleep(0.02)
    file.write_text("two", encoding="utf-8")
    os.utime(file, ns=(state[3], state[3]))
    assert not has_read_what_is_there(done(settled=True))
    file.unlink()
    assert not has_read_what_is_there(done(settled=True))
