"""Processes end with the one that started them; what is said of those that ended before their work did."""

from __future__ import annotations

import time

import pytest
from python_process import line_of, python

from shortloop.units.process_ends import how_ended, job_lost, process_of


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (0, "exit with status 0", ""),
        (3, "exit with status 3", "raise an exception"),
        (-6, "signal 6 (SIGABRT)", "compiled code"),
        (-9, "signal 9 (SIGKILL)", "memory"),
        (-11, "signal 11 (SIGSEGV)", "compiled code"),
        (-45, "signal 45", ""),
    ],
)
def test_signals_have_names_and_the_hint_goes_with_the_end(status: int, said: str, hint: str) -> None:
    assert how_ended(status) == said
    error = job_lost("main-1 (fit)", how_ended(status), "firm 3 of fit")
    assert hint in str(error.hint)
    assert "firm 3 of fit" in error.message
    assert "main-1 (fit)" in error.message
    assert "unit:" not in job_lost("main-1 (fit)", how_ended(status)).message


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
    top = python(FAMILY)
    below = [int(process) for process in line_of(top).split()]
    assert len(below) == 2
    assert not any(map(ended, below))
    top.kill()
    top.wait()
    deadline = time.monotonic() + 10
    while not all(map(ended, below)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(map(ended, below))
