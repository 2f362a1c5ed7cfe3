"""What a worker does with batches of several jobs: each has processes of its own, which run what the files
say now, with the libraries that are installed now, and see nothing that another job did."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engine_node import named, work_of_toy
from jobs_project import CONFIGURATION
from source_tree import ROOT

from shortloop.engines import worker
from shortloop.engines.worker import compute_batch
from shortloop.units.messages import Reply, UnitsDone, Work

STAGE = """\
import locale
import os
import time

import numpy as np
from shortloop.stages.stage import Out, Stage

SEEN = []


class Toy(Stage):
    factor: float

    def units(self):
        return 100

    def unit_names(self):
        return [*range(100)]

    def outputs(self):
        return {"x": Out((100,), "f8", "units", "numbers")}

    def compute(self, unit):
        import signal
        SEEN.append(unit)
        if unit == 66:
            os.kill(os.getpid(), signal.SIGKILL)
        if unit == 88:
            os._exit(0)
        if unit == 55:
            raise KeyError("a fault")
        if unit == 77:
            os.mkfifo("waits")
            open("waits").read()
        if unit == 44:
            return {"x": lambda: None}
        print("unit", unit)
        return {"x": unit * self.factor * 1.0, "seen": len(SEEN), "process": os.getpid(),
                "hour": time.localtime(0).tm_hour,
                "read": len(b"\\xc3\\xa4".decode(locale.getpreferredencoding())),
                "parent": os.getppid(), "threads": os.environ["OMP_NUM_THREADS"]}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project whose forkserver serves all tests."""
    made = tmp_path_factory.mktemp("project")
    (made / "workdirs/main").mkdir(parents=True)
    (made / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(worker, "_processes", processes := worker._Processes())
        yield made
    for forkserver in processes._forkservers.values():
        forkserver.end()


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Without a process that has the job."""
    monkeypatch.chdir(folder)
    if not (folder / "toys.py").exists() or (folder / "toys.py").read_text(encoding="utf-8") != STAGE:
        (folder / "toys.py").write_text(STAGE, encoding="utf-8")
    worker._processes._idle.clear()
    return folder


def work(
    project: Path,
    job: str = "main-1",
    factor: float = 2.0,
    versions: tuple[str, ...] = (),
    more: tuple[str, ...] = (),
) -> Work:
    said = work_of_toy(project, {"factor": factor}, versions=versions, more=more)
    return Work(f"{job} {factor}", pickle.dumps(said))


def done(reply: Reply) -> UnitsDone:
    assert not reply.lost
    found: UnitsDone = pickle.loads(reply.data)
    return found


def values(reply: Reply) -> list[dict[str, float]]:
    found = done(reply)
    assert found["failure"] is None, found["failure"]
    return [*map(pickle.loads, found["values"])]


@pytest.mark.parametrize(("unit", "said"), [(55, "KeyError: 'a fault'"), (44, "pickle")])
def test_a_process_whose_batch_fails_is_not_asked_again(project: Path, unit: int, said: str) -> None:
    """Whoever throws away what it says has not seen what it has loaded; units before come with the error."""
    (one,) = values(compute_batch(work(project), named(1)))
    found = done(compute_batch(work(project), named(1, unit, 2)))
    assert found["units"] == named(1)
    assert found["failure"] is not None
    assert found["failure"]["unit"] == named(unit)[0]
    assert said in found["failure"]["traceback"]
    (other,) = values(compute_batch(work(project), named(2)))
    assert (other["x"], other["process"] != one["process"]) == (4.0, True)
    assert values(compute_batch(work(project), named(3)))[0]["process"] == other["process"]


def test_units_are_computed_in_one_process_which_is_kept(project: Path) -> None:
    """And jobs do not see each other."""
    first, second = (values(compute_batch(work(project), named(*units))) for units in ([1, 2], [3]))
    (other,) = values(compute_batch(work(project, "main-2"), named(7)))
    (again,) = values(compute_batch(work(project), named(4)))
    assert [each["x"] for each in (*first, *second)] == [2.0, 4.0, 6.0]
    assert [each["seen"] for each in (*first, *second, again)] == [1, 2, 3, 4]
    assert len({each["process"] for each in (*first, *second, again)}) == 1
    assert other["seen"] == 1
    assert first[0]["process"] != os.getpid()
    assert first[0]["threads"] == "1"


def test_what_is_noted_and_printed_comes_with_the_batch(project: Path) -> None:
    first, second = (done(compute_batch(work(project), named(unit))) for unit in (1, 2))
    assert str(project / "toys.py").encode() in first["notes"]
    assert second["notes"].startswith(first["notes"])  # what the first says may be lost
    assert (first["at"], second["at"]) == (0, 0)
    of_units = [each for each in (*first["printed"], *second["printed"]) if each[0] is not None]
    assert of_units == [(named(1)[0], "unit 1\n"), (named(2)[0], "unit 2\n")]
    assert first["facts"] == second["facts"]
    assert {pool["threads_used"] for pool in first["threads"]} == {1}


def test_time_zone_and_locale_are_those_of_the_job(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker may have been started with others, and computes for jobs with others."""
    latin = {"TZ": "XYZ-9", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    plain = {"TZ": "UTC", "LC_ALL": "C.UTF-8"}
    found: list[dict[str, float]] = []
    for worker_has, job_has in ((latin, plain), (plain, {**plain, "TZ": "XYZ-3"}), (plain, plain)):
        for name in latin:
            monkeypatch.delenv(name, raising=False)
        with monkeypatch.context() as job:
            for name, each in job_has.items():
                job.setenv(name, each)
            given = work(project, f"main-{len(found)}")
        for name, each in worker_has.items():
            monkeypatch.setenv(name, each)
        found += values(compute_batch(given, named(1)))
    assert [(each["hour"], each["read"]) for each in found] == [(0, 1), (3, 1), (0, 1)]
    assert found[0]["parent"] == found[2]["parent"]


def test_an_edit_counts(project: Path) -> None:
    (before,) = values(compute_batch(work(project), named(1)))
    file = project / "toys.py"
    time_before = file.stat()
    file.write_text(STAGE.replace("* 1.0", "* 3.0"), encoding="utf-8")
    os.utime(file, ns=(time_before.st_atime_ns, time_before.st_mtime_ns))
    (after,) = values(compute_batch(work(project, "main-2"), named(1)))
    assert (before["x"], after["x"]) == (2.0, 6.0)
    (next_one,) = values(compute_batch(work(project, "main-3"), named(1)))
    assert next_one["parent"] == after["parent"]  # the forkserver is new, and stays
    assert after["parent"] != before["parent"]


def test_a_library_that_is_installed_anew_counts(project: Path) -> None:
    toys, site = project / "toys.py", project / "site"
    toys.write_text(f"import toylib\n{toys.read_text(encoding='utf-8')}", encoding="utf-8")
    install(site, "1.0")

    def asked(job: str) -> UnitsDone:
        return done(compute_batch(work(project, job, versions=("toylib",), more=(str(site),)), named(1)))

    first, second = asked("main-1"), asked("main-2")
    (site / "toylib-1.0.dist-info/METADATA").unlink()
    (site / "toylib-1.0.dist-info").rmdir()
    install(site, "2.0")
    third = asked("main-3")
    parents = [pickle.loads(each["values"][0])["parent"] for each in (first, second, third)]
    assert parents[0] == parents[1] != parents[2]
    assert first["facts"]["versions"]["toylib"] == "1.0"
    assert third["facts"]["versions"]["toylib"] == "2.0"


def install(site: Path, version: str) -> None:
    installed = site / f"toylib-{version}.dist-info"
    installed.mkdir(parents=True)
    (site / "toylib.py").write_text(f"__version__ = {version!r}\n", encoding="utf-8")
    (installed / "METADATA").write_text(f"Name: toylib\nVersion: {version}\n", encoding="utf-8")


def test_a_process_that_ends_is_lost_and_another_one_is_there(project: Path) -> None:
    """It costs no unit if it ends while it waits; a forkserver that is killed is started again."""
    (before,) = values(compute_batch(work(project), named(1)))
    assert compute_batch(work(project), named(66)).lost
    (after,) = values(compute_batch(work(project), named(1)))
    os.kill(int(after["process"]), signal.SIGKILL)
    _until_ended([int(after["process"])])
    (later,) = values(compute_batch(work(project), named(2)))
    assert len({each["process"] for each in (before, after, later)}) == 3
    assert before["parent"] == after["parent"] == later["parent"]
    os.kill(int(before["parent"]), signal.SIGKILL)
    (last,) = values(compute_batch(work(project, "main-2"), named(1)))
    assert last["parent"] != before["parent"]


def test_each_thread_has_a_process_of_its_own(project: Path) -> None:
    sent = work(project)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda unit: values(compute_batch(sent, named(unit)))[0], range(40)))
    assert [each["x"] for each in found] == [2.0 * unit for unit in range(40)]
    assert len({each["process"] for each in found}) <= 4


def test_processes_of_other_jobs_and_idle_ones_end(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [f"main-{number}" for number in range(4)]
    found = [int(values(compute_batch(work(project, job), named(1)))[0]["process"]) for job in jobs]
    _until_ended(found[:2])
    assert all(map(_runs, found[2:]))
    monkeypatch.setattr(worker, "KEPT", 0.5)  # from here on, so that a slow machine ends none before
    worker._processes._end_idle()
    _until_ended(found)
    (again,) = values(compute_batch(work(project, jobs[-1]), named(1)))
    assert again["seen"] == 1


def test_all_ends_with_the_worker(project: Path) -> None:
    code = (
        "import pickle, sys, os\n"
        "from shortloop.engines.worker import compute_batch\n"
        "work = pickle.load(sys.stdin.buffer)\n"
        "done = pickle.loads(compute_batch(work, [bytes.fromhex(sys.argv[1])]).data)\n"
        "found = pickle.loads(done['values'][0])\n"
        "print(found['process'], found['parent'], flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, named(1)[0].hex()],
        input=pickle.dumps(work(project)),
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    processes = list(map(int, ended.stdout.split()))
    assert len(processes) == 2, ended.stderr.decode()
    _until_ended(processes)


def _until_ended(processes: list[int]) -> None:
    _until(lambda: not any(map(_runs, processes)))


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_no_forkserver_ends_while_its_fork_computes(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PROJECTS", 1)
    monkeypatch.setattr(worker, "KEPT", 0.5)
    with ThreadPoolExecutor(1) as pool:
        (first,) = values(compute_batch(work(project), named(1)))
        held = pool.submit(compute_batch, work(project), named(77))
        waits = Path(f"/proc/{first['process']}/cwd/waits")
        _until(waits.exists)
        others = []
        for number in range(3):
            sent = work(project, f"main-{number + 2}", more=(f"/elsewhere/{number}",))
            others.append(int(values(compute_batch(sent, named(1)))[0]["parent"]))
            worker._processes._idle.clear()
        _until_ended(others)  # as nobody asks them for anything
        waits.write_text("done")
        assert values(held.result())[0]["x"] == 154.0
    assert values(compute_batch(work(project), named(1)))[0]["parent"] == first["parent"]
