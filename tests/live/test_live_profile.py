"""`shortloop profile`: planted bottlenecks are named on every engine, and the cache stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from live_project import EmptyProject, LiveProject, fixture_of, script, stages

METHODS = """\
# numbers
import numpy as np

@stage
def numbers(n: int):
    return {"x": np.random.default_rng(0).normal(size=n)}
# locked
def each(numbers: Job):
    return {f"u{n}": n for n in range(6)}

def guarded(n):
    import fcntl, tempfile, time
    with open(f"{tempfile.gettempdir()}/lock", "w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        time.sleep(0.1)
        return n * 2

@stage(units=each)
def locked(n):
    return {"y": guarded(n)}
# slow
def each(numbers: Job):
    return {f"u{n}": n for n in range(4)}

@stage(units=each)
def slow(n):
    total = 0
    for k in range(300):
        total += k
    rest = sum(i * i for i in range(400_000))
    return {"y": rest + total + n}
# peak
import numpy as np

def each(numbers: Job):
    return {f"u{n}": n for n in range(4)}

def wasteful(n):
    return np.ones(2_000_000).sum() + n

@stage(units=each)
def peak(n):
    return {"y": wasteful(n) + np.zeros(1000).sum()}
# failing
@stage
def failing(numbers: Job):
    raise ValueError("planted")
# threads
def each(numbers: Job):
    return {f"u{n}": n for n in range(4)}

@stage(units=each)
def threads(n):
    import numpy as np, threadpoolctl
    with threadpoolctl.threadpool_limits(4):
        found = np.ones((900, 900))
        for _ in range(4):
            found = found @ found / 900
    return {"y": float(found[n, n])}
"""
PLAIN = """\
import time
jobs = ("numbers",)

def prepare(job):
    writer = job.datasetwriter()
    writer.add("n", "int64")
    return writer

def analysis(sliceno, prepare_res):
    prepare_res.write(sliceno)
    time.sleep(0.05)

def synthesis(analysis_res):
    return len([*analysis_res])
"""
SCRIPT = """
numbers = run.build("numbers", n=1000)
for name in ("locked", "slow", "peak", "threads"):
    run.build(name, numbers=numbers)
return run.build("plain", numbers=numbers)
"""
FAILING = 'return run.build("failing", numbers=run.build("numbers", n=1000))'


class Planted(EmptyProject):
    """Stages with a bottleneck each."""

    sources: ClassVar = {
        **stages(METHODS),
        "methods/a_plain.py": PLAIN,
        "build_scripts/build_planted.py": script(SCRIPT),
    }

    def profile(self, *arguments: str, **environment: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.works("profile", *arguments, "--json", **environment))
        return found


empty = fixture_of(Planted, server=False)


@pytest.fixture(scope="module")
def planted(empty: Planted) -> Iterator[Planted]:
    """All jobs are built once; what is profiled leaves no trace among them."""
    empty.works("run", "planted")
    empty.write("build_scripts/build_failing.py", script(FAILING))
    empty.shortloop("run", "failing").fails()
    before = _files(empty)
    yield empty
    assert _files(empty) == before


def _files(project: LiveProject) -> dict[str, int]:
    """Files of jobs, and folders of engines, with their times."""
    folder = project.folder / "workdirs"
    found = [*folder.glob("main/*/*"), *folder.glob(".cache/engine-*"), *folder.glob("main/.*/*")]
    return {str(each): each.stat().st_mtime_ns for each in found}


@pytest.mark.parametrize(
    "engine", ["slices", *(pytest.param(each, marks=pytest.mark.slow) for each in ("joblib", "dask", "ray"))]
)
@pytest.mark.parametrize(
    ("stage", "how", "place"),
    [
        ("locked", "time", "time.sleep"),
        ("slow", "lines", r"slow \(methods/a_slow\.py:\d+\): rest = sum"),
        ("peak", "memory", r"wasteful \(methods/a_peak\.py:\d+\)"),
    ],
)
def test_what_is_planted_is_named(planted: Planted, engine: str, stage: str, how: str, place: str) -> None:
    found = planted.profile(stage, f"--{how}", SHORTLOOP_ENGINE=engine)
    assert found["same_result"] is True
    assert re.search(place, found["rows"][0][[*found["rows"][0]][-1]])
    assert found["longest_units"]
    assert all(Path(each).stat().st_size for each in found["files"])


@pytest.mark.slow
def test_threads_of_libraries_are_noticed(planted: Planted) -> None:
    assert planted.profile("threads")["bottleneck"].startswith("threads of libraries")


@pytest.mark.parametrize(
    "engine", ["slices", *(pytest.param(each, marks=pytest.mark.slow) for each in ("joblib", "dask", "ray"))]
)
def test_samples_are_of_phases_alone(planted: Planted, engine: str) -> None:
    found = planted.profile("locked", "--sample", SHORTLOOP_ENGINE=engine)
    assert found["same_result"] is True
    assert "guarded (methods/a_locked.py:" in found["rows"][0]["function"]
    assert not any("repeated_job" in row["function"] for row in found["rows"])


def test_a_method_of_exax(planted: Planted) -> None:
    found = planted.profile("plain")
    assert found["same_result"] is True
    assert found["phases"].keys() == {"prepare", "units", "finish"}
    assert any("time.sleep" in row["function"] for row in found["rows"])


def test_named_functions(planted: Planted) -> None:
    found = planted.profile("peak", "--function", "methods.a_peak.wasteful")
    assert all("wasteful" in row["line"] for row in found["rows"])
    assert "no such function" in planted.shortloop("profile", "peak", "--function", "a.b").fails()


def test_a_run(planted: Planted) -> None:
    found = planted.profile()
    assert found["critical_path"][0]["stage"] == "numbers"
    assert len(found["critical_path"]) == 2
    said = planted.works("profile")
    assert f"`shortloop profile {found['critical_path'][-1]['job']}`" in said
    assert planted.profile("--last")["job"] == found["critical_path"][-1]["job"]


def test_what_cannot_be_repeated_is_refused(planted: Planted) -> None:
    for arguments, expected in (
        (("locked", "--time", "--memory"), "one profiler at a time"),
        (("locked", "--last"), "a job and a run"),
        (("--memory",), "--last --memory"),
        (("nothing",), "unknown stage"),
        (("failing",), "no finished job to repeat"),
        (("locked", "--output", "build_scripts/build_planted.py"), "cannot be written there"),
    ):
        assert expected in planted.shortloop("profile", *arguments).fails()


def test_other_code_gives_another_result_and_an_error_is_shown(planted: Planted) -> None:
    job = planted.profile("slow")["job"]
    planted.edit("methods/a_slow.py", "rest + total", "rest - total")
    assert planted.profile(job)["same_result"] is False
    planted.edit("methods/a_slow.py", "rest - total", "rest / (total * 0)")
    said = planted.shortloop("profile", job).fails()
    assert "ZeroDivisionError" in said
    assert f"{job} failed when it was repeated" in said
    planted.edit("methods/a_slow.py", "rest / (total * 0)", "rest + total")


def test_a_deleted_input_is_named(planted: Planted) -> None:
    (number,) = [path for path in planted.folder.glob("workdirs/main/*/post.json") if "numbers" in _of(path)]
    number.rename(number.with_name("post.deleted.json"))
    said = planted.shortloop("profile", "locked").fails()
    number.with_name("post.deleted.json").rename(number)
    assert "an input of the job was deleted" in said
    assert number.parent.name in said


def _of(post: Path) -> str:
    return str(json.loads((post.parent / "setup.json").read_text())["method"])
