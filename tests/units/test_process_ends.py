"""Processes end with the one that started them; what is said of those that ended before their work did."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from source_tree import ROOT

from shortloop.units.process_ends import how_ended, job_lost, process_of


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (0, "exit with status 0"),
        (3, "exit with status 3"),
        (-9, "signal 9 (SIGKILL)"),
        (-11, "signal 11 (SIGSEGV)"),
        (-45, "signal 45"),
    ],
)
def test_signals_have_names(status: int, said: str) -> None:
    assert how_ended(status) == said


@pytest.mark.parametrize(
    ("status", "hint"),
    [(-9, "memory"), (-11, "compiled code"), (-6, "compiled code"), (1, "raise an exception")],
)
def test_the_hint_goes_with_the_end(status: int, hint: str) -> None:
    error = job_lost("main-1 (fit)", how_ended(status), "firm 3 of fit")
    assert hint in str(error.hint)
    assert "firm 3 of fit" in error.message
    assert "main-1 (fit)" in error.message


def test_units_of_a_job_are_told_if_they_are_known() -> None:
    assert "unit:" not in job_lost("main-1 (fit)", how_ended(-9)).message
    assert "firm 3" in job_lost("main-1 (fit)", how_ended(-9), "firm 3").message


FAMILY = """
import os, time
from shortloop.units.process_ends import forks_end_with_this
forks_end_with_this()
pids = [os.getpid()]
reader, writer = os.pipe()
for _ in range(2):  # a job, and its slice
    if os.fork():
        time.sleep(60)
        os._exit(0)
    os.write(writer, b"%d " % os.getpid())
print(os.read(reader, 100).decode(), flush=True)
time.sleep(60)
"""


def ended(process: int) -> bool:
    return process_of(process).state in ("", "Z", "X")


def test_jobs_and_their_slices_end_with_the_process_that_forked_them() -> None:
    top = subprocess.Popen(
        [sys.executable, "-c", FAMILY],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert top.stdout is not None
    below = [int(process) for process in top.stdout.readline().split()]
    assert len(below) == 2
    assert not any(map(ended, below))
    top.kill()
    top.wait()
    deadline = time.monotonic() + 10
    while not all(map(ended, below)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(map(ended, below))
    top.stdout.close()
