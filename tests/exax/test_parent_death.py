"""Processes end with the one that started them, even if that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from source_tree import ROOT

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
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


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
