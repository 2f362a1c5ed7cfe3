"""`shortloop isolate`: a stage alone in one process, on kept or random inputs, also where it fails."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from typing import ClassVar

import pytest
from live_project import SHORTLOOP, EmptyProject, fixture_of, script, stages

METHODS = """\
# table
import numpy as np
import pandas as pd

@stage
def table():
    rows = pd.DataFrame({"g": [*"abab"], "x": [1.0, 2.0, 3.0, 4.0], "n": [1, 2, 3, 4]})
    return {"rows": rows, "y": np.arange(6, dtype="f4").reshape(2, 3), "note": "said"}
# each
def groups(table: Job):
    return table["rows"].groupby("g")

@stage(units=groups)
def each(rows, table: Job, power: int):
    if rows["g"].iloc[0] == "b" and power == 3:
        raise ValueError("planted")
    return {"sum": (rows["x"] ** power).sum()}
# whole
@stage
def whole(each: Job):
    return {"total": each["sum"].sum(), "names": list(each["units"])}
"""
SCRIPT = """
table = run.build("table")
return run.build("whole", each=run.build("each", table=table, power=2))
"""


class Small(EmptyProject):
    """Three stages."""

    sources: ClassVar = {**stages(METHODS), "build_scripts/build_small.py": script(SCRIPT)}

    def session(self, *arguments: str, typed: str = "") -> str:
        """All that a session shows in which lines are typed."""
        line = f"printf %s {shlex.quote(typed)} | {SHORTLOOP} isolate {' '.join(arguments)}"
        done = self.shell("bash", "-c", line)
        return done.stdout + done.stderr


empty = fixture_of(Small, server=False)


@pytest.fixture(scope="module")
def small(empty: Small) -> Iterator[Small]:
    empty.works("run", "small")
    before = sorted(map(str, empty.folder.glob("workdirs/**/*")))
    yield empty
    assert [each for each in before if not (empty.folder / each).exists()] == []


def test_a_session(small: Small) -> None:
    typed = "print(stage.units, power, stage.compute('b'))\nprint(stage.compute()['sum'] + 0.5)\n"
    said = small.session("each", typed=f"{typed}stage.compute('c')\n")
    assert "['a', 'b'] 2 {'sum': 20.0}" in said.replace("np.float64(20.0)", "20.0")
    assert "[10.5 20.5]" in said
    assert "no such unit" in said
    assert "30.0 ['a', 'b']" in small.session("whole", typed="print(*stage.compute().values())\n")


@pytest.mark.slow
def test_units_are_told_apart_by_their_names_and_types(small: Small) -> None:
    small.write(
        "methods/a_odd.py",
        "from shortloop import stage\n\n\ndef odd_names():\n"
        "    return [(1, 10), ('1', 20), ('', 30), (('b', 2), 40)]\n\n\n"
        "@stage(units=odd_names)\ndef odd(value):\n    return {'y': value}\n",
    )
    small.write("build_scripts/build_odd.py", script("return run.build('odd')"))
    small.works("run", "odd")
    asked = "1", "'1'", "''", "('b', 2)"
    said = small.session("odd", typed="".join(f"print(stage.compute({each})['y'])\n" for each in asked))
    assert re.findall(r"\d0", said) == ["10", "20", "30", "40"]
    assert "2 units of odd" in small.session("odd", "--debug", "--unit", "1")
    assert "no such unit" in small.shortloop("isolate", "odd", "--debug", "--unit", "7").fails()


def test_a_script(small: Small) -> None:
    small.works("isolate", "each", "--script", "alone.py")
    assert "10.0" in small.python((small.folder / "alone.py").read_text())
    assert "cannot be written there" in small.shortloop("isolate", "each", "--script", "no/x.py").fails()


def test_random_inputs_have_the_same_shapes_and_types(small: Small) -> None:
    typed = (
        "kept, drawn = shortloop.load(table.job), stage.inputs['table']\n"
        "print((kept['rows'].dtypes == drawn['rows'].dtypes).all(), kept['y'].shape == drawn['y'].shape)\n"
        "print(kept['y'].dtype == drawn['y'].dtype, kept['note'] == drawn['note'])\n"
        "print(kept['rows'].equals(drawn['rows']))\n"
    )
    said = small.session("each", "--dummy", typed=f"import shortloop\n{typed}")
    assert "True True" in said
    assert said.index("True True") < said.rindex("True True") < said.index("False")


def test_the_failing_unit_is_debugged(small: Small) -> None:
    assert "2 units of each (main-2) computed: none failed" in small.session("each", "--debug")
    small.edit("build_scripts/build_small.py", "power=2", "power=3")
    small.shortloop("run", "small").fails()
    said = small.session("each", "--debug", typed="p power, rows['x'].sum()\nq\n")
    assert "ValueError: planted" in said
    assert "b of each (main-" in said
    assert "(3, " in said
    small.edit("methods/a_each.py", "raise ValueError", "breakpoint()\n        raise ValueError")
    said = small.session("each", typed="stage.compute('b')\np power + 39\nq\n")
    assert "42" in said


@pytest.mark.slow
def test_stages_of_notebooks_that_have_the_same_name(small: Small) -> None:
    jobs = []
    for folder, factor in (("one", 2), ("two", 3)):
        code = f"""
from shortloop.notebook import Session

ax = Session()


@ax.stage
def times(n: int):
    return {{"y": n * {factor}}}


print(ax.build(times, n=4))
"""
        small.write(f"{folder}/cells.py", code)
        jobs.append(small.shell(sys.executable, "cells.py", below=folder).ok().stdout.split()[-1])
    for job, expected in zip(jobs, (8, 12), strict=True):
        assert f"{{'y': {expected}}}" in small.session(job, typed="print(stage.compute())\n")
    assert json.loads(small.works("profile", job, "--json"))["same_result"] is True
    shutil.rmtree(small.folder / "workdirs/.cache/cells")
    (small.folder / "workdirs/.cache/cells").mkdir()
    assert "run its cell again" in small.shortloop("isolate", jobs[0]).fails()


def test_what_cannot_be_isolated_is_refused(small: Small) -> None:
    assert "unknown stage" in small.shortloop("isolate", "nothing").fails()
    small.write("methods/a_plain.py", "def synthesis():\n    return 1\n")
    small.write("build_scripts/build_plain.py", "def main(urd):\n    urd.build('plain')\n")
    small.works("run", "plain")
    assert "the job is of no stage" in small.shortloop("isolate", "plain").fails()
