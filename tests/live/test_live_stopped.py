"""A server, or a process of its jobs, that is stopped or silent: who it is and what to do, and soon."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from cases import first_cases
from live_project import PATIENCE, fixture_of, served, slowness, wait_for
from live_toy import ToyProject
from toy_project import DagProject, expected

toy = fixture_of(DagProject)


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.mark.parametrize("command", [("run", "dag"), ("gc", "--delete")])
def test_a_stopped_server_is_named_at_once(toy: DagProject, command: tuple[str, ...]) -> None:
    toy.new_chains()
    (server,) = toy.processes()["server"]
    with stopped(server):
        started = time.monotonic()
        done = toy.shortloop(*command)
        seconds = time.monotonic() - started
    assert done.returncode == 1
    assert done.stderr.startswith("shortloop: the exax server is stopped\n")
    assert f"process {server} (" in done.stderr
    assert "ax server)" in done.stderr
    assert f"kill -CONT {server}" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert seconds < 10 * slowness()
    assert toy.processes()["server"] == [server]


@first_cases(1, "what", ["server", "slice", "runner"])
def test_one_that_is_stopped_while_a_job_runs_is_named(toy: DagProject, what: str) -> None:
    nodes = toy.new_chains()
    toy.break_at("analysis", nodes[2].number, "hold")
    running = toy.start()
    toy.wait_until_reached()
    wait_for(lambda: toy.processes()["slice"])
    process = toy.processes()[what][0]
    with stopped(process):
        toy.mend()
        started = time.monotonic()
        said = said_until(running, f"{process}")
        assert time.monotonic() - started < 10
        assert "is stopped, and this run waits" in said
        assert "the exax server is stopped" in said or what != "server"
        assert said_until(running, "kill -CONT").count(f"kill -CONT {process}") == 1
    ran = toy.end(running)
    assert ran.status == 0, ran.said
    toy.check(ran, expected(nodes))


@pytest.mark.slow
def test_a_run_whose_server_is_stopped_can_be_ended(toy: DagProject) -> None:
    nodes = toy.new_chains()
    toy.break_at("analysis", nodes[2].number, "hold")
    running = toy.start()
    toy.wait_until_reached()
    (server,) = toy.processes()["server"]
    with stopped(server):
        running.terminate()
        assert running.wait(timeout=PATIENCE) != 0
    toy.mend()
    toy.check(toy.go(), expected(nodes))


def test_a_build_script_whose_server_stops_before_it_asks_says_so() -> None:
    with served(ToyProject) as toy:
        toy.new_chain()
        script = toy.folder / "build_scripts" / "build_chain.py"
        text = script.read_text(encoding="utf-8")
        hold = (
            "    while CHAIN.with_name('hold-first').exists():\n"
            "        CHAIN.with_name('held-first').touch()\n        time.sleep(0.01)\n"
        )
        script.write_text(text.replace("(urd):\n", f"(urd):\n{hold}"), encoding="utf-8")
        assert toy.server is not None
        with toy.held("first"):
            running = toy.start_chain()
            toy.wait_until_held("first", running)
            toy.server.send_signal(signal.SIGSTOP)
        try:
            line = said_until(running, "the exax server is stopped")
            assert "Traceback" not in line
            assert f"kill -CONT {toy.server.pid}" in said_until(running, "kill -CONT")
        finally:
            toy.server.send_signal(signal.SIGCONT)
        rest = running.communicate(timeout=PATIENCE)[0]
        assert running.returncode == 1
        assert "Traceback" not in rest


def said_until(running: subprocess.Popen[str], wanted: str) -> str:
    """The line of a run in which that is."""
    assert running.stdout is not None
    watchdog = threading.Timer(30, running.kill)  # so that waiting in vain ends
    watchdog.start()
    said = ""
    try:
        while line := running.stdout.readline():
            said += line
            if wanted in line:
                return line
    finally:
        watchdog.cancel()
    raise AssertionError(f"never said {wanted}:\n{said}")
