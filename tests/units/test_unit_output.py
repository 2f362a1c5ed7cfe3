"""What units give is kept, received and put together as it was given."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from jobs_project import fresh_python

from shortloop.exax.job_process import REPEATED
from shortloop.units.client import Received
from shortloop.units.machine_facts import Facts
from shortloop.units.messages import UnitsDone
from shortloop.units.unit_output import printed_units

FACTS: Facts = {"host": "x", "versions": {}, "kernels": {}}


def said(process: str, noted: list[bytes]) -> list[UnitsDone]:
    """Batches of a process that notes something in each, as it sends them."""
    found: list[UnitsDone] = []
    for number in range(len(noted)):
        first = max(number - REPEATED + 1, 0)
        at, notes = len(b"".join(noted[:first])), b"".join(noted[first : number + 1])
        units = [f"{process}{number}".encode()]
        found.append({"process": process, "at": at, "notes": notes, "units": units, "values": []})
    return found


@pytest.mark.parametrize("seed", range(20))
def test_units_count_when_all_is_known_that_their_process_noted(seed: int) -> None:
    rng = random.Random(seed)
    noted = {process: [rng.randbytes(rng.choice([0, 3, 40])) for _ in range(12)] for process in "abc"}
    sent = [each for process in "abc" for each in said(process, noted[process])]
    lost = rng.choice(sent)
    sent.remove(lost)
    rng.shuffle(sent)
    received, known = Received(), dict.fromkeys("abc", b"")
    came = set()
    for each in sent:
        for done in received.add(each):
            process, number = done["process"], int(done["units"][0][1:])
            known[process] += done["notes"]
            whole = b"".join(noted[process])
            assert whole.startswith(known[process])
            assert len(known[process]) >= len(b"".join(noted[process][: number + 1]))
            came.add(done["units"][0])
    repeated = lost["units"][0][1:] != b"11"  # none comes after that
    assert {process for process in "abc" if known[process] == b"".join(noted[process])} >= {
        process for process in "abc" if repeated or process != lost["process"] or not noted[process][-1]
    }
    assert came == {each["units"][0] for each in sent}


def test_units_wait_when_too_much_is_lost() -> None:
    sent = said("a", [b"%d" % number for number in range(9)])
    received = Received()
    assert not [*received.add(sent[REPEATED])]
    assert len([*received.add(sent[1])]) == 2
    assert "facts" in next(received.add({**sent[0], "process": "b", "facts": FACTS}))
    assert "facts" not in next(received.add({**sent[1], "process": "b", "facts": FACTS}))


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
