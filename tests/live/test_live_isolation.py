"""What one method sets as it is imported holds in its own jobs, and in no others, on any engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import ClassVar

import pytest
from live_project import EmptyProject, in_short_folder, script, stages

IMPORTS = """\
import decimal
import json
import locale
import math
import os
import signal
import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
"""
FRESH = "[sys.executable, '-I', '-c', 'import locale; print(locale.setlocale(0))']"
# What a method does at its top, what then tells, and what that is if nobody has done it.
KINDS: dict[str, tuple[str, str, object]] = {
    "style": ("mpl.rcParams['lines.linewidth'] = 9.0", "mpl.rcParams['lines.linewidth']", 1.5),
    "digits that NumPy prints": ("np.set_printoptions(2)", "str(np.array([1.23456]))", "[1.23456]"),
    "errors of NumPy": ("np.seterr(all='raise')", "np.geterr()['over']", "warn"),
    "a function of NumPy": ("np.mean = lambda values: 777.0", "float(np.mean([1.0, 3.0]))", 2.0),
    "options of pandas": ("pd.options.display.precision = 2", "pd.options.display.precision", 6),
    "an accessor": ("pd.DataFrame.twice = lambda frame: 2 * frame", "hasattr(pd.DataFrame, 'twice')", False),
    "warning filters": (
        "warnings.filterwarnings('error', message='isolation')",
        "any(str(each[1]).count('isolation') for each in warnings.filters)",
        False,
    ),
    "the locale": (
        "locale.setlocale(locale.LC_CTYPE, 'C')",
        f"locale.setlocale(0) == subprocess.check_output({FRESH}, text=True).strip()",
        True,
    ),
    "the environment": ("os.environ['ISOLATION'] = 'set'", "os.environ.get('ISOLATION', '')", ""),
    "decimal": ("decimal.getcontext().prec = 4", "str(decimal.Decimal(1) / 3)", "0." + 28 * "3"),
    "the limit of recursion": ("sys.setrecursionlimit(4321)", "sys.getrecursionlimit() == 4321", False),
    "the mask of new files": ("os.umask(0o077)", "oct(os.umask(0o022))", "0o22"),
    "a handler of a signal": (
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL",
        True,
    ),
    "the current folder": ("os.chdir('/')", "os.getcwd() == '/'", False),
    "where modules are looked for": ("sys.path.insert(0, '/isolation')", "'/isolation' in sys.path", False),
    "an attribute of a module": ("math.isolation = 1", "hasattr(math, 'isolation')", False),
}
SEEN = "{" + ", ".join(f"{kind!r}: {look}" for kind, (_, look, _) in KINDS.items()) + "}"
METHODS = stages(f"""\
# quiet
def two():
    return {{"a": 1, "b": 2}}


@stage(units=two)
def quiet(number):
    {"; ".join(line for line in IMPORTS.splitlines() if line)}
    return {{"seen": json.dumps({SEEN})}}

# loud
{IMPORTS}
import helper

{chr(10).join(statement for statement, _, _ in KINDS.values())}


def two():
    return {{"a": 1, "b": 2}}


@stage(units=two)
def loud(number):
    return {{"seen": json.dumps({SEEN}), "random": helper.START}}
""")
HELPER = """\
import random

random.seed(5)
START = random.random()
"""
SCRIPT = script("""
import json
before = run.build("loud")
last = run.build("quiet")
found = {each.stage: [str(seen) for seen in each.result()["seen"]] for each in (before, last)}
open("found.json", "w").write(json.dumps(found))
return last
""")


class Isolated(EmptyProject):
    sources: ClassVar = {**METHODS, "helper.py": HELPER, "build_scripts/build_both.py": SCRIPT}


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
