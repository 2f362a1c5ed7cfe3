"""What one method sets as it is imported holds in its own jobs, and in no others, on any engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar

import pytest
from live_project import EmptyProject, in_short_folder

# What a method does at its top, what then tells, and what that is if nobody has done it.
KINDS: dict[str, tuple[str, str, object]] = {
    "style of figures": (
        "import matplotlib as mpl; mpl.rcParams['lines.linewidth'] = 9.0",
        "__import__('matplotlib').rcParams['lines.linewidth']",
        1.5,
    ),
    "digits that NumPy prints": (
        "import numpy as np; np.set_printoptions(precision=2)",
        "str(__import__('numpy').array([1.23456]))",
        "[1.23456]",
    ),
    "errors of NumPy": (
        "import numpy as np; np.seterr(all='raise')",
        "__import__('numpy').geterr()['over']",
        "warn",
    ),
    "a changed function of NumPy": (
        "import numpy as np; np.mean = lambda values: 777.0",
        "float(__import__('numpy').mean([1.0, 3.0]))",
        2.0,
    ),
    "options of pandas": (
        "import pandas as pd; pd.options.display.precision = 2",
        "__import__('pandas').options.display.precision",
        6,
    ),
    "an accessor of pandas": (
        "import pandas as pd; pd.DataFrame.twice = lambda frame: 2 * frame",
        "hasattr(__import__('pandas').DataFrame, 'twice')",
        False,
    ),
    "warning filters": (
        "import warnings; warnings.filterwarnings('error', message='isolation')",
        "any(str(each[1]).count('isolation') for each in __import__('warnings').filters)",
        False,
    ),
    "the locale": (
        "import locale; locale.setlocale(locale.LC_CTYPE, 'C')",
        "__import__('locale').setlocale(0) == __import__('subprocess').run("
        "[__import__('sys').executable, '-I', '-c', 'import locale; print(locale.setlocale(0))'],"
        " capture_output=True, text=True).stdout.strip()",
        True,
    ),
    "the environment": (
        "import os; os.environ['ISOLATION'] = 'set'",
        "__import__('os').environ.get('ISOLATION', '')",
        "",
    ),
    "a context of decimal": (
        "import decimal; decimal.getcontext().prec = 4",
        "str(__import__('decimal').Decimal(1) / 3)",
        "0." + 28 * "3",
    ),
    "the limit of recursion": (
        "import sys; sys.setrecursionlimit(4321)",
        "__import__('sys').getrecursionlimit() == 4321",
        False,
    ),
    "the mask of new files": ("import os; os.umask(0o077)", "oct(__import__('os').umask(0o022))", "0o22"),
    "a handler of a signal": (
        "import signal; signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "__import__('signal').getsignal(__import__('signal').SIGUSR1) == __import__('signal').SIG_DFL",
        True,
    ),
    "the current folder": ("import os; os.chdir('/')", "__import__('os').getcwd() == '/'", False),
    "where modules are looked for": (
        "import sys; sys.path.insert(0, '/isolation')",
        "'/isolation' in __import__('sys').path",
        False,
    ),
    "an attribute of a module": (
        "import math; math.isolation = 1",
        "hasattr(__import__('math'), 'isolation')",
        False,
    ),
}
SEEN = "{" + ", ".join(f"{kind!r}: {look}" for kind, (_, look, _) in KINDS.items()) + "}"
QUIET = f"""\
import json

from shortloop import stage


def two():
    return {{"a": 1, "b": 2}}


@stage(units=two)
def quiet(number):
    return {{"seen": json.dumps({SEEN})}}
"""
LOUD = f"""\
import helper
from shortloop import stage

{chr(10).join(statement for statement, _, _ in KINDS.values())}


def two():
    return {{"a": 1, "b": 2}}


@stage(units=two)
def loud(number):
    import json

    return {{"seen": json.dumps({SEEN}), "random": helper.START}}
"""
HELPER = """\
import random

random.seed(5)
START = random.random()
"""
SCRIPT = """\
import json

from shortloop import pipeline


@pipeline
def main(run):
    before = run.build("loud")
    last = run.build("quiet")
    found = {each.stage: [str(seen) for seen in each.result()["seen"]] for each in (before, last)}
    open("found.json", "w").write(json.dumps(found))
    return last
"""


class Isolated(EmptyProject):
    sources: ClassVar = {
        "methods/a_quiet.py": QUIET,
        "methods/a_loud.py": LOUD,
        "helper.py": HELPER,
        "build_scripts/build_both.py": SCRIPT,
    }


@pytest.fixture(scope="module", params=["slices", pytest.param("joblib", marks=pytest.mark.slow)])
def found(request: pytest.FixtureRequest) -> Iterator[dict[str, list[dict[str, object]]]]:
    """What the units of both jobs have found."""
    with in_short_folder(Isolated) as project:
        assert "2 jobs built" in project.works("run", "both", SHORTLOOP_ENGINE=request.param)
        said = project.read_json("found.json")
        yield {name: [json.loads(each) for each in units] for name, units in said.items()}


def test_no_other_job_sees_it(found: dict[str, list[dict[str, object]]]) -> None:
    assert found["quiet"] == [{kind: usual for kind, (_, _, usual) in KINDS.items()}] * 2


def test_its_own_job_sees_it(found: dict[str, list[dict[str, object]]]) -> None:
    for each in found["loud"]:
        unset = {kind for kind, (_, _, usual) in KINDS.items() if each[kind] == usual}
        assert unset <= {"the current folder", "the locale"}
