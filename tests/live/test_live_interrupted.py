"""Ctrl-C while exax still imports the build script: the run ends at once, and quietly."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

import pytest
from live_project import wait_for
from toy_project import DagProject, chains, expected

SLOW = """\
import time as clock
from pathlib import Path as Folder

if (Folder(__file__).parents[1] / "hold").exists():
    (Folder(__file__).parents[1] / "reached").touch()
    clock.sleep(60)
"""


def test_ctrl_c_while_the_build_script_is_imported(toy: DagProject) -> None:
    nodes = chains(800)
    toy.write_dag(nodes)
    script = toy.folder / "build_scripts/build_dag.py"
    script.write_text(SLOW + script.read_text(encoding="utf-8"), encoding="utf-8")
    (toy.folder / "hold").touch()
    running = toy.start_command()
    wait_for((toy.folder / "reached").exists)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    ran = toy.end(running)
    (toy.folder / "hold").unlink()
    assert ran.status == 130
    assert ran.said == ""
    toy.check(toy.go(), expected(nodes))


@pytest.mark.parametrize("wait", [0.3, 0.6, 0.9])
def test_ctrl_c_at_any_time(toy: DagProject, wait: float) -> None:
    """Wherever it is, after some time, on a machine that is as quick or slow as it is."""
    toy.new_chains()
    running = toy.start_command()
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(wait)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGINT)
    ran = toy.end(running)
    # Python itself may not have begun to see to signals, and then is ended by it.
    assert ran.status in (130, -signal.SIGINT, 0)
    assert "Traceback" not in ran.said or ran.status == -signal.SIGINT
    toy.go()
