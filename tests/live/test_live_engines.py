"""The same jobs on every engine: the same bits, one engine for all jobs of a run, nothing left of it.
Of what goes wrong a message says which unit, worker or scheduler it was, and what is done is kept."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator

import joblib
import pytest
from cases import first_cases
from engine_project import ENGINES, EngineProject, end
from live_project import PATIENCE, fixture_of, slowness, wait_for

from shortloop.keys.code import EXTRA_CODE
from shortloop.testing import check_engine

one_engine = first_cases(1, "engine", ENGINES)
"""What engines share: with one of them, and with the others in the slow tests."""
STAGES = ("numbers", "factors", "fit", "rows", "sums", "page")
FORCED = [word for stage in STAGES for word in ("--force", stage)]


class BuiltOnce(EngineProject):
    def prepare(self) -> None:
        self.go("slices").ok()
        self.built = [*self.jobs()]


shared = fixture_of(BuiltOnce)


@pytest.fixture
def project(shared: EngineProject) -> Iterator[EngineProject]:
    """Jobs that nobody has built yet."""
    shared.mend()
    asked = len(shared.first)
    shared.first.append("")
    groups = 52 + 12 * asked  # some that no job before has computed
    shared.ask(partitions=[f"P{asked}"], factors={"count": 12}, fit={"groups": groups})
    yield shared
    wait_for(lambda: not shared.processes())


@pytest.mark.slow  # an engine of another package passes them in test_live_entry_points.py
@pytest.mark.parametrize("engine", ENGINES)
def test_it_passes_the_common_tests(engine: str) -> None:
    check_engine(engine)


@first_cases(1, "engine", ENGINES)
def test_every_stage_leaves_the_same_bits(shared: BuiltOnce, engine: str) -> None:
    before = {*shared.jobs()}
    first = shared.by_place(shared.built)
    shared.shortloop("run", "x", *FORCED, SHORTLOOP_ENGINE=engine).ok()
    now = shared.by_place({*shared.jobs()} - before)
    assert now.keys() == first.keys()
    for place, job in now.items():
        if place != ("methods.rows", None):  # exax writes names of jobs into datasets
            assert shared.files(job) == shared.files(first[place]), place
        assert shared.same_jobs(job, first[place]), place
    said = shared.record(now["methods.factors", "A"])["engine"]
    assert (said["name"], said["where"]) == (engine.partition(":")[0], "this machine")
    assert sum(said["processes"].values()) <= 2
    wait_for(lambda: not shared.processes())
    # What units print is kept with the job.
    output = shared.job_folder(now["methods.factors", "A"]) / "OUTPUT"
    printed = "".join(file.read_text() for file in output.iterdir())
    assert all(f"unit {unit} done\n" in printed for unit in range(12))
    assert {each["threads_used"] for each in shared.record(now["methods.factors", "A"])["threads"]} == {1}


def test_what_computed_a_job_is_shown_and_its_cost_counted(shared: BuiltOnce) -> None:
    shared.ask(factors={"count": 300}, partitions="A")
    (job,) = re.findall(r"built factors +A +(main-\d+)", shared.go("joblib").ok().stdout)
    engine, cost = shared.record(job)["engine"], shared.jobs()[job]["cost"]
    assert engine["cpu_seconds"] > 0.1
    assert cost["cpu_seconds"] >= engine["cpu_seconds"]
    shown = shared.shortloop("show", job).stdout
    assert re.search(rf"engine +joblib {re.escape(joblib.__version__)}, 2 workers", shown), shown
    assert re.search(r"code of numpy +\S", shown)
    assert {"peak_bytes", "written_bytes", "utilisation"} <= cost.keys()
    assert shared.jobs()[shared.built[0]]["cost"]  # those that it did not compute are as they were


def test_slices_say_how_many_they_were(shared: BuiltOnce) -> None:
    place = shared.by_place(shared.built)
    assert shared.record(place["methods.factors", "A"])["engine"] == {"name": "slices", "workers": 2}
    assert "engine" not in shared.record(place["methods.page", None])  # it has no units
    folder = shared.job_folder(place["methods.factors", "A"])
    left = {path.name for path in folder.iterdir() if path.name.startswith(".")}
    assert left <= {EXTRA_CODE}  # what noted its progress is gone
    post = shared.read_json(f"workdirs/main/{folder.name}/post.json")
    assert not [name for name in post["files"] if name.startswith(".")]


def test_a_run_that_computes_no_units_starts_no_engine(shared: BuiltOnce) -> None:
    shared.ask()
    shared.go("slices").ok()
    log = shared.folder / "workdirs/.cache/engine/engine.log"
    before = log.exists() and log.stat().st_mtime_ns
    said = shared.works("run", "x", "--force", "page", SHORTLOOP_ENGINE="dask:tcp://127.0.0.1:1")
    assert "1 job built" in said
    assert (log.exists() and log.stat().st_mtime_ns) == before


def goes_on(project: EngineProject, engine: str = "slices") -> Counter[str]:
    """The next run ends well, and says which units it computed."""
    project.mend()
    said = project.go(engine).ok().stdout
    after = Counter(project.computed())
    found = re.findall(r"built (\w+).* (\d+) of \d+ units computed(, \d+ resumed)?", said)
    for stage, count, _ in found:
        assert int(count) == sum(after[each] for each in after if each.startswith(f"{stage} ")), said
    assert any(resumed for _, _, resumed in found), said
    return after


@pytest.mark.slow  # test_live_failing_units.py has such units
@one_engine
@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_unit_that_ended_its_process_is_done_again(project: EngineProject, engine: str, how: str) -> None:
    project.fault("factors", 5, f"once {how}")
    project.go(engine).ok()
    computed = Counter(each for each in project.computed() if each.startswith("factors"))
    assert computed["factors 5"] == 2
    assert len(computed) == 12
    assert max(computed.values()) == 2


@one_engine
def test_a_worker_that_is_killed_is_replaced(project: EngineProject, engine: str) -> None:
    if engine == "joblib:threading":
        pytest.skip("its workers are threads")
    project.fault("factors", 2, "hold")
    running = project.start(engine)
    wait_for(lambda: "factors 2" in project.computed())
    before = Counter(project.computed())
    victims = project.workers()
    assert victims, project.processes()
    for victim in victims:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    time.sleep(0.5)
    (project.faults / "factors-2").unlink()
    said = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, said
    after = Counter(project.computed())
    assert {name for name in after if name.startswith("factors")} == {f"factors {n}" for n in range(12)}
    assert sum(after.values()) - len(after) <= 4 + len(before)  # what had no answer yet, and no more


@first_cases(
    1,
    ("engine", "how"),
    [(engine, how) for how in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM) for engine in ENGINES],
)
def test_an_ended_run_leaves_nothing(project: EngineProject, engine: str, how: signal.Signals) -> None:
    project.fault("factors", 11, "hold")
    running = project.start(engine)
    wait_for(lambda: "factors 11" in project.computed())
    status, _ = end(running, how)
    assert status != 0
    wait_for(lambda: not project.processes())
    assert goes_on(project)["factors 11"] == 1


@one_engine
def test_the_process_of_the_engine_is_killed(project: EngineProject, engine: str) -> None:
    project.fault("factors", 11, "hold")
    running = project.start(engine)
    wait_for(lambda: "factors 11" in project.computed())
    (host,) = [pid for pid, command in project.processes().items() if "engines.engine_process" in command]
    os.kill(host, signal.SIGKILL)
    said = "".join(running.communicate(timeout=PATIENCE))
    assert running.returncode == 1
    assert "the process of the engine has ended" in said
    assert "Traceback" not in said.partition("found:")[0]  # what its library has said comes after it
    wait_for(lambda: not project.processes())
    assert goes_on(project)["factors 11"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "address", ["dask:tcp://127.0.0.1:{port}", "ray:127.0.0.1:{port}", "dask:tls://127.0.0.1:{port}"]
)
def test_a_scheduler_that_cannot_be_reached_is_named_at_once(project: EngineProject, address: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = address.format(port=nobody.getsockname()[1])
        started = time.monotonic()
        done = project.go(address)
        seconds = time.monotonic() - started
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert address.partition(":")[2] in said, said
    assert "cannot be reached" in said
    assert "Traceback" not in said
    assert seconds < 20 * slowness()


@pytest.mark.slow  # tests/engines/test_engines.py names each
def test_other_versions_where_jobs_run_end_the_run(project: EngineProject) -> None:
    """The Python of the run finds another NumPy's name and number first."""
    other = project.folder / ".other" / "numpy-1.99.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.99\n")
    said = project.go("joblib", PYTHONPATH=str(project.folder / ".other")).fails()
    assert re.search(r"numpy was 2\S+ where jobs run, not 1\.99", said), said
    assert "Traceback" not in said


@pytest.mark.slow
def test_joblib_goes_by_its_users_configuration(project: EngineProject) -> None:
    script = (project.folder / "build_scripts/build_x.py").read_text()
    script = script.replace("import json\n", "import json\n\nimport joblib\n").replace(
        "    fit = run", '    with joblib.parallel_config(backend="threading", n_jobs=3):\n        fit = run'
    )
    (project.folder / "build_scripts/build_y.py").write_text(script)
    done = project.go("joblib", "y").ok()
    (job,) = re.findall(r"built fit +(main-\d+)", done.stdout)
    (other,) = re.findall(r"built factors +\S+ +(main-\d+)", done.stdout)
    assert project.record(job)["engine"]["workers"] == 3
    assert project.record(other)["engine"]["workers"] == 2
