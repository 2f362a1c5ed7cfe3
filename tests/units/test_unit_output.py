"""What units give is kept, received and put together as it was given."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from jobs_project import fresh_python

from shortloop.units.client import Received
from shortloop.units.messages import UnitsDone
from shortloop.units.unit_output import printed_units


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


CODE = """
import ctypes, os, subprocess, sys
from shortloop.units.unit_output import UnitOutput

class Stage:
    def unit_names(self):
        return {names}

os.mkdir("OUTPUT")
libc = ctypes.CDLL(None)
try:
    with UnitOutput(0, Stage()) as output:
        for unit in output.each(range(6)):
            if unit == 1:
                print("printed", end="")
            if unit == 2:
                os.write(2, b"written\\n")
            if unit == 3:
                libc.printf(b"in C\\n")
            if unit == 4:
                subprocess.run(["echo", "of a program"])
            if unit == 5 and {fails}:
                print("last")
                raise ValueError
except ValueError:
    pass
print("after")
"""


def units(folder: Path, names: object, fails: bool) -> dict[str, str]:
    assert fresh_python(CODE.format(names=names, fails=fails), folder) == ("" if fails else "after\n")
    text = (folder / "OUTPUT/0").read_bytes()
    return {each.unit: text[each.begin : each.end].decode() for each in printed_units(folder / "OUTPUT/0")}


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("names", [None, [f"g{number}" for number in range(6)]])
def test_each_unit_has_its_own(tmp_path: Path, names: list[str] | None, fails: bool) -> None:
    wanted = {1: "printed", 2: "written\n", 3: "in C\n", 4: "of a program\n"}
    wanted |= {5: "last\n"} if fails else {}
    label = {number: str(number) if names is None else names[number] for number in wanted}
    assert units(tmp_path, names, fails) == {label[number]: text for number, text in wanted.items()}


def test_silent_units_leave_no_file_and_an_index_may_be_cut_short(tmp_path: Path) -> None:
    fresh_python(CODE.format(names=None, fails=False).replace("range(6)", "range(1)"), tmp_path)
    assert os.listdir(tmp_path / "OUTPUT") == []
    (tmp_path / "0.units").write_text('["a", 0, 3]\n["b", 3', encoding="utf-8")
    assert [*map(tuple, printed_units(tmp_path / "0"))] == [("a", 0, 3)]
    assert printed_units(tmp_path / "1") == []
