"""Forks: one that runs another command, threads that are in the way, and those before their job is known."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_project import CONFIGURATION, fresh_python
from python_process import ended

from shortloop.exax.patches import parallel_jobs
from shortloop.exax.patches.parallel_jobs import Spares
from shortloop.exax.unit_processes import states_above
from shortloop.stages.task import Folders, Task

BEGIN = """\
import atexit, fcntl, os, signal, sys, time
from shortloop.exax.forked import Forked
atexit.register(print, "parent ends")
"""


def ran(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return ended(["-c", BEGIN + code], folder)


STATUSES = {
    "None": 0,
    "sys.exit()": 0,
    "sys.exit(3)": 3,
    "sys.exit('no')": 1,
    "1 / 0": 1,
    "os.kill(os.getpid(), signal.SIGKILL)": -9,
    "os.kill(os.getpid(), signal.SIGTERM)": -15,
    "os.kill(os.getpid(), signal.SIGINT)": 130,
}


def test_its_status_is_that_of_a_program(tmp_path: Path) -> None:
    """A disk without room is said in a line: that exax could not write is no mistake of anybody's code."""
    full = "(_ for _ in ()).throw(OSError(28, 'No space left'))"
    works = ", ".join(f"lambda: {work}" for work in (*STATUSES, full))
    done = ran(f"print(*(Forked(work).wait() for work in [{works}]))", tmp_path)
    *statuses, _ = done.stdout.splitlines()[0].split()
    assert [*map(int, statuses)] == [*STATUSES.values()]
    assert done.stdout.splitlines()[1:] == ["parent ends"]
    assert done.stderr.count("Traceback") == done.stderr.count("ZeroDivisionError") == 1
    assert "No space left" in done.stderr


# What its parent is about to do, and does at its end, is not done twice; what it has begun itself is.
ALONE = """
try:
    Forked(lambda: atexit.register(print, "fork ends")).wait()
finally:
    print("once")
"""
HOLDS_NO_LOCKS = """
held, told = open("lock", "w"), os.pipe()
fcntl.flock(held, fcntl.LOCK_EX)
fork = Forked(lambda: (os.write(told[1], b"up"), time.sleep(60)), [told[1]])
os.read(told[0], 2)
held.close()
with open("lock") as again:
    fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
assert not fork.ends_within(0.01)
fork.signal(signal.SIGTERM)
print(fork.wait(), fork.wait(), fork.poll(), fork.ends_within(0))
fork.signal(signal.SIGTERM)  # to nobody
"""
ENDS_WITH_ITS_PARENT = """
reader, writer = os.pipe()
if not os.fork():
    os.close(reader)
    Forked(lambda: time.sleep(60), [writer])
    os._exit(0)
os.close(writer)
assert os.read(reader, 1) == b""  # which it has open as long as it lives
print("ended")
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [(ALONE, "fork ends\nonce\n"), (HOLDS_NO_LOCKS, "-15 -15 -15 True\n"), (ENDS_WITH_ITS_PARENT, "ended\n")],
    ids=["alone", "locks", "parent"],
)
def test_it_holds_nothing_of_its_parent(code: str, said: str, tmp_path: Path) -> None:
    done = ran(code, tmp_path)
    assert done.stdout == f"{said}parent ends\n", done.stderr


STARTED = {
    "polars, imported": ("import polars", ""),
    "libraries that leave none": (
        "import io, numpy as np, pandas as pd, pyarrow as pa; np.ones((99, 99)) @ np.ones((99, 99))\n"
        "frame = pa.table({'a': [1]}).to_pandas(); pd.read_parquet(io.BytesIO(frame.to_parquet()))",
        "",
    ),
    "polars": ("import polars as pl; pl.DataFrame({'a': [1, 2]}).group_by('a').len()", "polars"),
    "duckdb": ("import duckdb; c = duckdb.connect()", "duckdb"),
    "a pool": (
        "from concurrent.futures import ThreadPoolExecutor as P; p = P(1); p.submit(abs, 1).result()",
        "the thread ThreadPoolExecutor-0_0",
    ),
    "a pool that has ended": (
        "from concurrent.futures import ThreadPoolExecutor as P\nwith P(1) as p: p.submit(abs, 1).result()",
        "",
    ),
}
# A process that another has forked, as each job is.
FORKED = """
import os
if os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))
{code}
from shortloop.exax.unit_processes import threads_lost_by_fork
print(*threads_lost_by_fork(), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("name", STARTED)
def test_threads_are_told_by_what_has_started_them(name: str, tmp_path: Path) -> None:
    code, owner = STARTED[name]
    said = fresh_python(FORKED.format(code=code), tmp_path, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    assert owner in said
    assert bool(owner) == bool(said.strip())


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "accelerator.conf").write_text(CONFIGURATION, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "workdirs/main"


def finish(folder: Path, started: float) -> None:
    folder.mkdir(parents=True)
    (folder / "setup.json").write_text("{}", encoding="utf-8")
    (folder / "post.json").write_text(json.dumps({"starttime": started}), encoding="utf-8")


def states(*jobs: Folders, before: str | None = None) -> list[object]:
    named = {str(number): each for number, each in enumerate(jobs)}
    return [*states_above(Task("a", "methods.a_a", "A", None, {}, named, before))]


def test_a_job_of_the_same_id_is_another_one(workdir: Path) -> None:
    one, two = workdir / "main-1", workdir / "main-2"
    finish(one, 1.0)
    finish(two, 2.0)
    before = states(str(one), [str(two)], None)
    assert before == states([str(one), str(two)], None, []) == states(str(one), before=str(two))
    assert len({str(each) for each in before}) == 2
    assert states("main-1/default", ["main-2/rows"]) == before  # of datasets
    shutil.rmtree(one)
    assert states(str(one), [str(two)], None) != before
    finish(one, 1.0)
    os.utime(one / "post.json", ns=(0, 0))
    after = states(str(one), [str(two)], None)
    assert after[0] != before[0]
    assert after[1] == before[1]


LANE = "methods.a_toy", ("extra",)
CODE = (
    "import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    "import os; os.system('true')",
    "import subprocess; subprocess.Popen(['sleep', '9'])",
    "import os; os.fork() or os._exit(0)",
    "import os; os._exit(0)",
    "raise SystemExit(1)",
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spares]:
    """Spares, whose jobs say what they were given and what was done before."""
    from accelerator import launch

    def run(prof_fd: int, **given: Any) -> None:
        os.write(prof_fd, json.dumps([given, done, os.getpgid(0)]).encode())

    done: list[object] = []
    monkeypatch.setattr(launch, "run", run)
    for name in ("BD_STATUS_FD", "BD_TERM_FD"):
        monkeypatch.setenv(name, "2")
    found = Spares()
    found.prepare = done.append
    yield found
    end(found)


def end(found: Spares) -> None:
    for spare in [*found._waiting.values()]:
        spare.connection.close()
        os.waitpid(spare.process, 0)


def spare(found: Spares) -> None:
    """Have a spare forked, as the process does that forks jobs."""
    assert found.start(LANE, True, {}) is None
    assert found.wanted
    found.fork()
    assert not found.wanted


def wait_until_readable(descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    assert poll.poll(60_000)


def said_by(started: tuple[int, int] | None) -> list[Any]:
    assert started is not None
    process, pipe = started
    with open(pipe, "rb") as stream:
        said = stream.read()
    os.waitpid(process, 0)
    return [process, *json.loads(said)]


def test_runs_the_job_that_comes_with_what_was_done_before(made: Spares) -> None:
    """If it is of its method and modules."""
    spare(made)
    assert made.start(("methods.a_toy", ()), False, {}) is None
    assert made.start(("methods.a_other", ("extra",)), False, {}) is None
    assert len(made.connections) == 1
    process, given, done, group = said_by(made.start(LANE, False, {"jobid": "main-7", "slices": 2}))
    assert given == {"jobid": "main-7", "slices": 2}
    assert done == [["methods.a_toy", ["extra"]]]
    assert group == process != os.getpgid(0)
    assert not made.connections
    assert not made
    spare(made)
    assert said_by(made.start(LANE, True, {}))[1] == {}
    assert made.wanted


@pytest.mark.parametrize("code", CODE)
def test_none_waits_that_is_not_alone_or_could_not_begin(made: Spares, code: str) -> None:
    made.prepare = lambda lane: exec(code, {})
    spare(made)
    (connection,) = made.connections
    wait_until_readable(connection)
    assert made.ended(connection)
    assert not made.connections
    assert made.start(LANE, True, {}) is None
    ended_itself = code.endswith(("_exit(0)", "Exit(1)")) and "fork" not in code
    assert bool(made.wanted) is ended_itself, "one that was not alone is not forked again"


@pytest.mark.parametrize("killed", [True, False])
def test_one_that_ends_is_not_missed(made: Spares, monkeypatch: pytest.MonkeyPatch, killed: bool) -> None:
    """Killed, or as no job came."""
    monkeypatch.setattr(parallel_jobs, "PATIENCE", 60 if killed else 0.05)
    spare(made)
    (process,) = [each.process for each in made._waiting.values()]
    if killed:
        os.kill(process, signal.SIGKILL)
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    else:
        (connection,) = made.connections
        wait_until_readable(connection)
        assert made.ended(connection)
    assert made.start(LANE, not killed, {}) is None
    assert bool(made.wanted) != killed
    assert not made.connections
