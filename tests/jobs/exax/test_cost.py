"""What a job cost, measured from outside: its processor time, memory and bytes, with all its processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project

from shortloop.engines.units import PROGRESS
from shortloop.jobs.exax import cost as room
from shortloop.jobs.exax.cost import Meter, _stat

project = pytest.fixture(empty_project)
MB = 2**20

# As exax's: forks a job for each line, which is code, and says when it has ended.
RUNNER = """
import os, subprocess, sys, time
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
def fork(code):
    child = os.fork()
    if not child:
        try:
            exec(code)
        finally:
            os._exit(0)
    return child
print("ended", flush=True)
for line in sys.stdin:
    child = os.fork()
    if not child:
        os.setpgrp()
        try:
            exec(eval(line))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Runner:
    """A process that forks jobs, and a meter that has found it."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNNER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        self.wait()  # it has started: what it reads from now on is the job's
        self.meter = Meter()
        self.meter._runner = self.process.pid
        stat = _stat(self.process.pid)
        assert stat is not None
        self.meter._started = stat.started

    def start(self, code: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{code!r}\n")
        self.process.stdin.flush()

    def wait(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ended\n"

    def cost(self, code: str) -> dict[str, Any]:
        with self.meter.measure() as cost:
            self.start(code)
            self.wait()
        return cost


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path)
    yield runner
    runner.process.kill()
    runner.process.communicate()


def test_processor_time_of_a_job_its_slices_and_their_programs(runner: Runner) -> None:
    program = "[sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.3: pass']"
    a_slice = f"burn(0.2); subprocess.run({program})"
    cost = runner.cost(f"burn(0.2); [os.waitpid(c, 0) for c in [fork({a_slice!r}), fork({a_slice!r})]]")
    assert 1.2 <= cost["cpu_seconds"] < 1.4
    again = runner.cost("burn(0.1)")  # counts from where the last one ended
    assert 0.09 <= again["cpu_seconds"] < 0.2


def test_utilisation_is_of_the_cores_that_a_job_may_use(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.meter._cores = 4
    cost = runner.cost("burn(0.2); time.sleep(0.3)")
    assert 0 < cost["utilisation"] < 0.2 / 0.5 / 4 * 1.3
    monkeypatch.setattr(room, "TICKS", 0.1)  # a job too short for what the system counts in
    assert "utilisation" not in runner.cost("pass")


def test_memory_that_processes_share_counts_once(runner: Runner) -> None:
    fill = f"kept = bytearray(b'x') * {60 * MB}"
    own = f"own = bytearray(b'x') * {20 * MB}; time.sleep(1.5)"
    cost = runner.cost(f"{fill}; [os.waitpid(c, 0) for c in [fork({own!r}), fork({own!r})]]")
    assert 100 * MB < cost["peak_bytes"] < 125 * MB


def test_memory_that_was_given_back_between_two_looks(runner: Runner) -> None:
    cost = runner.cost(f"time.sleep(0.2); big = bytearray(b'x') * {80 * MB}; del big; time.sleep(1.2)")
    assert 80 * MB < cost["peak_bytes"] < 100 * MB


def test_a_job_too_short_to_be_looked_at_has_no_memory(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FIRST_LOOK", 60.0)
    assert "peak_bytes" not in runner.cost("pass")


def test_bytes_by_calls_and_by_memory_maps(runner: Runner, tmp_path: Path) -> None:
    cost = runner.cost(f"open('big', 'wb').write(bytes({8 * MB})); open('big', 'rb').read()")
    assert 8 * MB <= cost["written_bytes"] < 8.1 * MB
    assert 8 * MB <= cost["read_bytes"] < 8.1 * MB
    mapped = runner.cost(
        f"import mmap; file = open('map', 'w+b'); file.truncate({4 * MB});"
        f"view = mmap.mmap(file.fileno(), 0); view[:] = b'x' * {4 * MB}"
    )
    assert mapped["written_bytes"] < MB
    if cost["disk_written_bytes"]:  # a file system in memory has none
        assert 4 * MB <= mapped["disk_written_bytes"] < 4.5 * MB


def test_the_share_that_is_done_is_read_in_the_folder_of_the_job(runner: Runner, tmp_path: Path) -> None:
    folder = tmp_path / "main-1"
    folder.mkdir()
    assert runner.meter.fraction() is None
    with runner.meter.measure():
        runner.start(f"os.chdir({str(folder)!r})\nwhile not os.path.exists('end'): time.sleep(0.01)")
        assert runner.meter.fraction() is None
        (folder / PROGRESS).write_text("0.375", encoding="ascii")
        deadline = time.monotonic() + 60
        while runner.meter.fraction() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert runner.meter.fraction() == 0.375
        (folder / "end").touch()
        runner.wait()
    with runner.meter.measure():
        assert runner.meter.fraction() is None  # the next job has not said anything


def test_a_runner_that_ends_takes_its_counts_with_it(runner: Runner) -> None:
    with runner.meter.measure() as cost:
        runner.process.kill()
        runner.process.wait()
    assert cost == {}


def test_without_a_server_nothing_is_measured_and_nothing_fails(project: Path) -> None:
    meter = Meter()
    with meter.measure() as cost:
        time.sleep(0.1)
    assert cost == {}
    assert meter.fraction() is None


def test_an_error_passes_through(project: Path) -> None:
    with pytest.raises(KeyError), Meter().measure():
        raise KeyError


def test_the_name_of_a_process_may_be_anything() -> None:
    Path("/proc/self/comm").write_text("a) R 1 (2 ", encoding="ascii")
    stat = _stat(os.getpid())
    assert stat is not None
    assert (stat.parent, stat.group) == (os.getppid(), os.getpgrp())
    assert _stat(2**22 + 1) is None
