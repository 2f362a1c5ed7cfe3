"""Units that fail: their errors are kept, the next run computes them alone, and all engines give the same."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from cases import first_cases
from engine_project import FAULTS, EngineProject
from live_project import fixture_of, script, stages, wait_for

from shortloop.stages.results import open_result

METHODS = stages("""\
# fit
def groups(numbers: Job, groups: int = 12):
    values = numbers["numbers"]
    for group in range(groups):
        yield f"g{group}", values[group % 5 :] * (group + 1)


@stage(units=groups, on_error="keep", retries=0, timeout=None)
def fit(values, unit: str, shift: int = 0):
    import numpy as np
    import pandas as pd

    from tools.faults import meet

    print(f"fits {unit}")
    meet("fit", int(unit[1:]))
    line = np.polyfit(np.arange(len(values)), values + shift, 1)
    rows = pd.DataFrame({"degree": [0, 1], "n": len(values), "good": True, "value": line, "name": unit})
    return {"line": line, "n": len(values), "name": unit, "rows": rows, "kept": {1: {unit}}}

# page
@stage
def page(fit: Job, factors: list[Job]):
    import numpy as np

    return {
        "lines": fit["line"],
        "rows": fit["rows"],
        "values": np.array([each.arrays["values"] for each in factors]),
        "errors": [[unit, error] for unit, error in fit.errors.items()],
    }

# draws
@stage
class Draws(Stage):
    grows = "draws"
    on_error = "keep"

    draws: int

    def units(self):
        return self.draws - self.have

    def outputs(self):
        return {"numbers": Out((self.draws,), "f8", "draws", "drawn")}

    def index(self, unit):
        return self.have + unit

    def compute(self, unit):
        from tools.faults import meet

        meet("draws", self.have + unit)
        return {"numbers": 10.0 * (self.have + unit)}
""")
FACTORS = "methods/a_factors.py"
SETTINGS = '    on_error = "keep"\n    retries = 0\n    timeout = None\n'
METHODS[FACTORS] = (
    EngineProject.sources[FACTORS]
    .replace("(Stage):\n", f"(Stage):\n{SETTINGS}")
    .replace('{"sum": float(out["values"].sum())}', '{"failed": sorted(out.errors)}')
)
SCRIPT = script(
    """
numbers = run.build("numbers", file=run.file("numbers.txt"))
parts = [
    run.build("factors", partition=name, numbers=numbers, count=asked.get("count", 12))
    for name in asked.get("partitions", "A")
]
fit = run.build("fit", numbers=numbers, groups=asked.get("groups", 12), shift=asked.get("shift", 0))
return run.build("page", fit=fit, factors=parts)
""",
    reads=".asked.json",
)
GROW = script('return run.build("draws", draws=asked["draws"])', reads=".asked.json")
MORE_FAULTS = '''\
    if what == "memory":
        raise MemoryError
    if what == "sleep":
        time.sleep(60)
    if what == "ignore":
        for _ in range(600):
            try:
                time.sleep(0.1)
            except Exception:
                pass
    if what == "crash":
        ctypes.string_at(0)
    if what == "odd":
        raise Odd
    if what == "long":
        raise ValueError("x" * 1_000_000 + " \\udcff 0x7f0123456789")
    if what == "stuck":
        sum(range(10**13))  # which lets no signal through


class Odd(Exception):
    """Has a message that cannot be read, and cannot be pickled."""

    def __init__(self):
        self.unpickled = lambda: None

    def __str__(self):
        raise RuntimeError("no message")
'''


class FailingProject(EngineProject):
    """Units of it may fail, and others are kept."""

    sources: ClassVar = {
        **EngineProject.sources,
        **METHODS,
        "build_scripts/build_x.py": SCRIPT,
        "build_scripts/build_grow.py": GROW,
        "tools/faults.py": "import ctypes\n" + FAULTS + MORE_FAULTS,
    }

    def give(self, method: str, **settings: Any) -> None:
        """Give settings of a stage other values than they had."""
        text = METHODS[f"methods/a_{method}.py"]
        for name, value in settings.items():
            for usual in ("0", "None", '"keep"'):
                for equals in ("=", " = "):
                    text = text.replace(f"{name}{equals}{usual}", f"{name}{equals}{value!r}")
        self.write(f"methods/a_{method}.py", text)

    def last(self, stage: str) -> str:
        """Id of the newest recorded job of a stage."""
        ids = [job for job, each in self.jobs().items() if each["parts"]["method"] == f"methods.{stage}"]
        return max(ids, key=lambda job: int(job.rpartition("-")[2]))

    def loaded(self, stage: str) -> Any:
        """The newest job of a stage."""
        return open_result(self.job_folder(self.last(stage)))

    def run_well(self, engine: str = "slices", script: str = "x") -> str:
        """Run it, which must work; what it said."""
        return self.go(engine, script).ok().stdout


ENGINES = ("joblib:threading", "dask", "ray")
ODD = ["raise", "memory", "odd", "long", "kill", "exit"]
shared = fixture_of(FailingProject)


@pytest.fixture
def project(shared: FailingProject) -> Iterator[FailingProject]:
    """Jobs that nobody has built yet."""
    shared.mend()
    for method in ("fit", "factors", "page"):
        shared.give(method)
    asked = len(shared.first)
    shared.first.append("")
    shared.ask(partitions=[f"P{asked}"], shift=asked)
    yield shared
    wait_for(lambda: not shared.processes())


def test_failed_units_leave_errors_and_are_computed_again_alone(project: FailingProject) -> None:
    project.fault("factors", 3, "raise")
    project.fault("fit", 5, "raise")
    said = project.run_well()
    fit, factors, page = (project.loaded(name) for name in ("fit", "factors", "page"))
    assert f"fit: 1 of 12 units failed: g5; `shortloop show {fit.job}`" in said
    assert f"factors P0: 1 of 12 units failed: 3; `shortloop show {factors.job}`" in said
    assert fit.errors == {"g5": "ZeroDivisionError: a fault"}
    assert factors.errors == {3: "ZeroDivisionError: a fault"}
    assert factors.facts == {"failed": [3]}
    values = factors.arrays["values"]
    assert np.isnan(values[3]).all()
    assert np.isfinite(np.delete(values, 3, 0)).all()
    assert np.isnan(fit["line"][5]).all()
    assert np.isnan(fit["n"][5])
    assert fit["name"][5] == ""
    rows = fit["rows"].set_index("unit")
    assert rows.index.tolist()[9:13] == ["g4", "g5", "g6", "g6"]
    assert rows.loc["g5", "unit_error"] == "ZeroDivisionError: a fault"
    assert rows.loc["g5"].drop("unit_error").isna().all()
    assert rows.loc["g6", "unit_error"].isna().all()
    assert {str(kind) for kind in rows.dtypes} >= {"Int64", "boolean", "float64", "string"}
    assert fit.to_frame().equals(fit["rows"])
    assert [fit["kept"][name] for name in ("g4", "g5", "g6")] == [{1: {"g4"}}, None, {1: {"g6"}}]
    assert page["errors"] == [["g5", "ZeroDivisionError: a fault"]]
    shown = " ".join(project.shortloop("show", fit.job).stdout.split())
    assert "1 of 12 units failed" in shown
    assert "unit g5 ZeroDivisionError: a fault" in shown
    jobs = [*project.jobs()]
    begun = len(project.computed())
    said = project.run_well()
    assert sorted(project.computed()[begun:]) == ["factors 3", "fit 5"]
    assert "0 jobs built, 4 reused" in said
    assert re.findall("fits g[0-9]+", said) == ["fits g5"]  # as it is shown live
    assert f"fit: 1 of 12 units failed: g5; `shortloop show {fit.job}`" in said
    assert [*project.jobs()] == jobs
    project.mend()
    project.edit("methods/a_page.py", '"rows":', '"all_rows":')  # it waits for what it is made from
    said = project.run_well()
    assert sorted(project.computed()) == ["factors 3", "fit 5"]
    assert "1 of 12 units computed; units of it failed" in said
    assert "3 jobs built, 1 reused" in said
    assert not project.loaded("fit").errors
    assert not project.loaded("page")["errors"]
    fit_files, factor_files = (project.files(project.last(name)) for name in ("fit", "factors"))
    project.mend()
    assert "0 jobs built, 4 reused" in project.run_well()
    assert not project.computed()
    project.shortloop("run", "x", "--force", "fit", "--force", "factors").ok()
    assert project.files(project.last("fit")) == fit_files
    assert project.files(project.last("factors")) == factor_files


@first_cases(1, "engine", ("joblib", "slices", *ENGINES))
def test_whatever_computes_units_leaves_the_same(project: FailingProject, engine: str) -> None:
    for unit, what in enumerate(ODD):
        project.fault("fit", unit, what)
        project.fault("factors", unit, what)
    project.run_well(engine)
    fit, factors = project.loaded("fit"), project.loaded("factors")
    expected = [
        "ZeroDivisionError: a fault",
        "MemoryError",
        "Odd: its message cannot be read",
        f"ValueError: {'x' * 287}…",
        "the process that computed it ended: signal 9 (SIGKILL)",
        "the process that computed it ended: exit with status 7",
    ]
    assert [each.partition(", each time")[0] for each in fit.errors.values()] == expected
    assert [*fit.errors] == [f"g{unit}" for unit in range(6)]
    assert [*factors.errors] == [*range(6)]
    project.mend()
    project.run_well(engine)
    again = [f"{kind} {unit}" for kind in ("fit", "factors") for unit in range(6)]
    assert sorted(project.computed()) == sorted(again)


def test_a_unit_is_computed_again_as_often_as_its_stage_says(project: FailingProject) -> None:
    project.give("fit", retries=2, on_error="stop")
    for unit, what in enumerate(["once raise", "once kill", "once exit"]):
        project.fault("fit", unit, what)
    project.run_well()
    record = project.record(project.last("fit"))
    assert ["g0", ["ZeroDivisionError: a fault"]] in record["attempts"]
    assert "errors" not in record
    project.give("fit", retries=7, on_error="stop", timeout="2 h")
    assert "0 jobs built, 4 reused" in project.run_well()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["slices", "joblib", *ENGINES])
def test_a_unit_that_takes_too_long_is_ended(project: FailingProject, engine: str) -> None:
    project.give("fit", timeout=1.5)
    project.fault("fit", 1, "sleep")
    project.fault("fit", 2, "ignore")
    said = "TimeoutError: took over 1.5 s"
    errors = {"g1": said, "g2": said}
    if engine in ("slices", "joblib"):  # one that does not end when it is told to is killed
        project.fault("fit", 3, "stuck")
        errors["g3"] = f"{said}, and did not end when it was told to"
    project.run_well(engine)
    assert project.loaded("fit").errors == errors
    assert "all 4 jobs are cached; failed units of 1" in project.shortloop("plan", "x").stdout
    project.mend()
    project.give("fit", timeout="5 min", retries=1)
    project.run_well(engine)
    assert sorted(project.computed()) == [f"fit {number}" for number in range(1, len(errors) + 1)]


def test_a_unit_that_crashes_is_named_each_time(project: FailingProject) -> None:
    project.give("fit", on_error="stop")
    project.fault("fit", 11, "crash")  # the last one: others are kept
    for _ in range(2):  # then it is the only one, and the job's own process has it
        said = project.go("slices").fails()
        assert re.search(r"g11 of fit\n +found: +signal 11 \(SIGSEGV\)", said), said
    assert re.search(r"\d+ of 12 units are kept", said)


@pytest.mark.slow
def test_a_job_of_which_all_units_fail_fails(project: FailingProject) -> None:
    project.ask(groups=3, shift=200)
    for unit in range(3):
        project.fault("fit", unit, "raise")
    said = project.go("slices").fails()
    assert re.search(r"all units failed \(3\); g0 of fit:(.|\n)*ZeroDivisionError: a fault", said)
    project.mend()
    project.run_well()
    assert sorted(project.computed()) == ["fit 0", "fit 1", "fit 2"]


@first_cases(1, "stage", ("fit", "factors"))
def test_a_job_that_was_killed_forgets_what_failed(project: FailingProject, stage: str) -> None:
    """What failed before is computed again, and not taken for a value that is missing."""
    project.fault(stage, 2, "raise")
    project.fault(stage, 11, "hold")
    running = project.start("slices")
    wait_for(lambda: f"{stage} 11" in project.computed())
    lines = (project.faults / "computed").read_text().splitlines()
    (held,) = [int(line.split()[2]) for line in lines if line.startswith(f"{stage} 11 ")]
    os.killpg(os.getpgid(held), signal.SIGKILL)  # all of the job
    running.communicate(timeout=60)
    project.mend()
    project.give(stage, timeout="2 h")  # which is part of no key
    project.run_well()
    again = {each for each in project.computed() if each.startswith(stage)}
    assert {f"{stage} 2", f"{stage} 11"} <= again
    assert len(again) < 12  # some were handed out with the unit that was held
    assert not project.loaded(stage).errors
    assert np.isfinite(project.loaded("factors").arrays["values"]).all()
    assert np.isfinite(project.loaded("fit")["line"]).all()


def test_no_job_grows_from_one_with_failed_units(project: FailingProject) -> None:
    project.ask(draws=4)
    project.run_well(script="grow")
    project.mend()
    project.fault("draws", 5, "raise")
    project.ask(draws=8)
    project.run_well(script="grow")
    assert sorted(project.computed()) == [f"draws {unit}" for unit in (4, 5, 6, 7)]
    assert project.loaded("draws").errors == {1: "ZeroDivisionError: a fault"}
    project.mend()
    project.ask(draws=9)
    project.run_well(script="grow")
    assert sorted(project.computed()) == [f"draws {unit}" for unit in (4, 5, 6, 7, 8)]
    assert project.loaded("draws").arrays["numbers"].tolist() == [10.0 * unit for unit in range(9)]
