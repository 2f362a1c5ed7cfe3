"""A fork that runs another command: it ends as a program does, and holds nothing of its parent's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import ROOT

BEGIN = """\
import atexit, fcntl, os, signal, sys, time
from shortloop.exax.forked import Forked
atexit.register(print, "parent ends")
"""


def ran(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BEGIN + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_where_there_is_no_room_left_it_says_so_in_a_line(tmp_path: Path) -> None:
    """The run has said what to do; that exax could not write of it is no mistake of anybody's code."""
    code = "import errno\ndef work(): raise OSError(errno.ENOSPC, 'No space left')\nForked(work, []).wait()"
    done = ran(code, tmp_path)
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("work", "status"),
    [
        ("None", 0),
        ("sys.exit()", 0),
        ("sys.exit(3)", 3),
        ("sys.exit('no')", 1),
        ("1 / 0", 1),
        ("os.kill(os.getpid(), signal.SIGKILL)", -9),
        ("os.kill(os.getpid(), signal.SIGTERM)", -15),
        ("os.kill(os.getpid(), signal.SIGINT)", 130),
    ],
)
def test_its_status_is_that_of_a_program(work: str, status: int, tmp_path: Path) -> None:
    done = ran(f"print('forked', Forked(lambda: {work}).wait())", tmp_path)
    assert done.stdout == f"forked {status}\nparent ends\n"
    assert ("ZeroDivisionError" in done.stderr) == ("/" in work)


def test_it_ends_alone(tmp_path: Path) -> None:
    """What its parent is about to do, and does at its end, is not done twice; what it has begun itself is."""
    code = """
try:
    Forked(lambda: atexit.register(print, "fork ends")).wait()
finally:
    print("once")
"""
    assert ran(code, tmp_path).stdout == "fork ends\nonce\nparent ends\n"


def test_it_does_not_hold_its_parents_locks(tmp_path: Path) -> None:
    code = """
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
    done = ran(code, tmp_path)
    assert done.stdout == "-15 -15 -15 True\nparent ends\n", done.stderr


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    code = """
reader, writer = os.pipe()
if not os.fork():
    os.close(reader)
    Forked(lambda: time.sleep(60), [writer])
    os._exit(0)
os.close(writer)
assert os.read(reader, 1) == b""  # which it has open as long as it lives
print("ended")
"""
    assert ran(code, tmp_path).stdout == "ended\nparent ends\n"
