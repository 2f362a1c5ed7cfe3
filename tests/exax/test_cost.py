"""Costs of several jobs at a time: processor time and bytes of all their processes, and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs_project import empty_project

from shortloop.exax import cost as room
from shortloop.exax.cost import COSTS, Meter, progress_of
from shortloop.units.process_ends import process_of
from shortloop.units.queue import PROGRESS, Units

project = pytest.fixture(empty_project)
MB = 2**20
# As exax's runner: forks a job for each line, a folder and code, and says when it has ended.
RUNNER = """
import json, os, subprocess, sys, threading, time
from accelerator import launch
from shortloop.exax.cost import note_costs
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
def execute(workdir, job, code):
    os.chdir(os.path.join(workdir, job))
    exec(code)
launch.execute_process = execute
note_costs()
print("ready", flush=True)
def wait(child, name):
    os.waitpid(child, 0)
    print(name, flush=True)
for line in sys.stdin:
    workdir, job, code = json.loads(line)
    child = os.fork()
    if not child:
        os.setpgrp()
        try:
            launch.execute_process(workdir, job, code)
        finally:
            os._exit(0)
    threading.Thread(target=wait, args=(child, job)).start()
"""


class Runner:
    """A process that forks jobs, and a meter that has found it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNNER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        self.meter = Meter()
        self.meter._runner = self.process.pid

    def costs(self, *codes: str, cores: int = 2) -> list[dict[str, Any]]:
        """Of jobs that run at the same time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        folders = [self.folder / f"main-{number}" for number, _ in enumerate(codes)]
        started = time.monotonic()
        with self.meter.measure():
            for folder, code in zip(folders, codes, strict=True):
                folder.mkdir(exist_ok=True)
                self.process.stdin.write(json.dumps([str(self.folder), folder.name, code]) + "\n")
            self.process.stdin.flush()
            ended = {self.process.stdout.readline().strip() for _ in codes}
        assert ended == {folder.name for folder in folders}
        seconds = time.monotonic() - started
        found = [self.meter.cost(folder, seconds, cores) for folder in folders]
        assert not [folder for folder in folders if (folder / COSTS).exists()]
        return found

    def cost(self, code: str, cores: int = 2) -> dict[str, Any]:
        return self.costs(code, cores=cores)[0]


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path)
    yield runner
    runner.process.kill()
    runner.process.communicate()


def test_jobs_at_the_same_time_are_told_apart(runner: Runner) -> None:
    fill = "kept = bytearray(b'x') * {}; burn({}); time.sleep(1.5)"
    brief = f"time.sleep(0.2); big = bytearray(b'x') * {150 * MB}; del big; time.sleep(1.2)"
    small, large, given_back = runner.costs(fill.format(30 * MB, 0.1), fill.format(90 * MB, 0.4), brief)
    assert 0.1 <= small["cpu_seconds"] < 0.3
    assert 0.4 <= large["cpu_seconds"] < 0.6
    assert 50 * MB < large["peak_bytes"] - small["peak_bytes"] < 70 * MB
    assert 50 * MB < given_back["peak_bytes"] - large["peak_bytes"] < 70 * MB  # between two looks


def test_all_processes_of_a_job_count_and_memory_that_they_share_counts_once(runner: Runner) -> None:
    own = f"own = bytearray(b'x') * {30 * MB}; burn(0.2); time.sleep(1.5)"
    code = (
        f"shared = bytearray(b'x') * {60 * MB}; burn(0.2);"
        f"children = [fork({own!r}), fork({own!r})]; [os.waitpid(each, 0) for each in children]"
    )
    idle, busy = runner.costs("time.sleep(1.5)", code)
    assert 0.6 <= busy["cpu_seconds"] < 0.9
    assert 110 * MB < busy["peak_bytes"] - idle["peak_bytes"] < 150 * MB


def test_a_job_that_is_killed_or_short_has_less(runner: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = runner.cost("burn(0.2); time.sleep(0.3)", cores=4)
    assert 0 < cost["utilisation"] < 0.2 / 0.5 / 4 * 1.5  # of the cores that it may use
    assert runner.cost("os.kill(os.getpid(), 9)").keys() <= {"peak_bytes"}
    monkeypatch.setattr(room, "TICKS", 0.1)  # too short for what the system counts in
    monkeypatch.setattr(room, "FIRST_LOOK", 60.0)  # and to be looked at
    assert not {"utilisation", "peak_bytes"} & runner.cost("pass").keys()


def test_bytes_by_calls_and_by_memory_maps(runner: Runner) -> None:
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


def test_how_far_a_job_is_stands_in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress_of(tmp_path) is None
    (tmp_path / PROGRESS).write_text("0.3", encoding="ascii")  # half of a line
    assert progress_of(tmp_path) is None
    monkeypatch.setattr(
        "shortloop.units.queue._progress_file", lambda: os.open(tmp_path / PROGRESS, os.O_RDWR)
    )
    units = Units([3.0, 1.0, 1.0, 1.0], range(4))
    assert progress_of(tmp_path) == (0.0, 0, 4)
    drawn = units.batches()
    assert next(drawn) == [0]
    assert next(drawn) == [1]
    assert progress_of(tmp_path) == (0.5, 0, 3)  # as the first one ended; the second is drawn after that
    next(units.batches())
    next(drawn)
    assert progress_of(tmp_path) == (0.667, 1, 2)
    assert [*drawn] == []
    assert progress_of(tmp_path) == (0.833, 1, 1)


def test_the_name_of_a_process_may_be_anything() -> None:
    Path("/proc/self/comm").write_text("a) R 1 (2 ", encoding="ascii")
    stat = process_of(os.getpid())
    assert (stat.parent, stat.group) == (os.getppid(), os.getpgrp())
    assert not process_of(2**22 + 1).state
