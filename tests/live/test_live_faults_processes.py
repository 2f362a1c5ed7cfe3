"""Processes that fail, vanish or are killed: the run says so, nothing half-made is used, the next run goes on
where it was. More of them, at random, in test_live_faults_random."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

import pytest
from cases import first_cases
from live_project import PATIENCE, wait_for
from toy_project import DagProject, Node, Ran, expected


def goes_on(toy: DagProject, nodes: list[Node], kept: set[str]) -> str:
    """The next run needs nothing, leaves what it must, and uses these jobs and no more; what it says."""
    toy.mend()
    ran = toy.go()
    toy.check(ran, expected(nodes))
    assert ran.reused == kept
    return ran.said


@pytest.mark.parametrize("what", ["slice", "method", "runner", "server"])
def test_kill_9(toy: DagProject, what: str) -> None:
    nodes = toy.new_chains()
    before = toy.finished()
    toy.break_at("analysis", nodes[2].number, "hold")
    running = toy.start()
    toy.wait_until_reached()
    wait_for(lambda: toy.processes()["slice"])
    wait_for(lambda: len(toy.finished() - before) == 2)  # jobs that run beside it
    kept = toy.finished() - before
    if what == "server":
        toy.kill_server()
    else:
        os.kill(toy.processes()[what][0], signal.SIGKILL)
    toy.mend()
    ran = toy.end(running)
    assert ran.status == (0 if what == "runner" else 1), ran.said  # exax starts another runner
    if what == "runner":
        assert "was cut off from outside; it starts again" in ran.said
        toy.check(ran, expected(nodes))
        kept = set(ran.jobs)
    if what == "server":
        assert "the exax server ended while a job was running" in ran.said
        wait_for(lambda: not toy.processes()["method"])
        toy.start_server()
    said = goes_on(toy, nodes, kept)
    assert what == "runner" or "did not finish; " in said


@pytest.mark.slow  # a server that the run has started, and that ends with it, is interrupted below
@pytest.mark.parametrize("command", ["ax run", "shortloop run"])
def test_ctrl_c_ends_the_job_too(toy: DagProject, command: str) -> None:
    nodes = toy.new_chains()
    before = toy.finished()
    toy.break_at("analysis", nodes[1].number, "hold")
    running = toy.start() if command == "ax run" else toy.start_command()
    toy.wait_until_reached()
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does it
    assert_interrupted(toy.end(running))
    wait_for(lambda: not toy.processes()["method"])  # killed, and perhaps not gone yet
    goes_on(toy, nodes, toy.finished() - before)


def assert_interrupted(ended: Ran) -> None:
    assert ended.status == 130, ended.said
    assert "interrupted: finished jobs are kept; run again to go on" in ended.said
    assert "Traceback" not in ended.said


SLOW = """\
import time as clock
from pathlib import Path as Folder

if (Folder(__file__).parents[1] / "hold").exists():
    (Folder(__file__).parents[1] / "reached").touch()
    clock.sleep(60)
"""


def test_ctrl_c_while_the_build_script_is_imported(toy: DagProject) -> None:
    nodes = toy.new_chains()
    script = toy.folder / "build_scripts/build_dag.py"
    text = script.read_text(encoding="utf-8")
    script.write_text(SLOW + text, encoding="utf-8")
    (toy.folder / "hold").touch()
    running = toy.start_command()
    wait_for((toy.folder / "reached").exists)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    ran = toy.end(running)
    (toy.folder / "hold").unlink()
    script.write_text(text, encoding="utf-8")
    assert (ran.status, ran.said) == (130, "")
    toy.check(toy.go(), expected(nodes))


@first_cases(1, "wait", [0.3, 0.8])
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_shortloop_run_takes_all_with_it_that_it_started(toy: DagProject, number: int) -> None:
    toy.stop_server()
    strangers = toy.alive()  # the board of a server that was killed goes on
    nodes = toy.new_chains()
    before = toy.finished()
    toy.break_at("analysis", nodes[1].number, "hold")
    running = toy.start_command()
    toy.wait_until_reached()
    wait_for(lambda: len(toy.finished() - before) == 3)
    os.killpg(running.pid, number) if number == signal.SIGINT else running.send_signal(number)
    running.wait(timeout=PATIENCE)
    assert running.returncode == (130 if number == signal.SIGINT else -number)
    wait_for(lambda: set(toy.alive()) <= set(strangers))  # some of them may have ended meanwhile
    ended = toy.end(running)
    if number == signal.SIGINT:
        assert_interrupted(ended)
    kept = toy.finished() - before
    assert len(kept) == 3
    toy.mend()
    ran = toy.end(toy.start_command())
    assert ran.status == 0, ran.said
    toy.check(ran, expected(nodes))
    assert ran.reused == kept


def test_two_runs_at_once(toy: DagProject) -> None:
    """One waits for the other, which has the methods loaded anew while its job runs; nothing is deleted."""
    nodes = toy.new_chains()
    before = toy.finished()
    toy.break_at("analysis", nodes[2].number, "hold")
    running = [toy.start(), toy.start()]
    toy.wait_until_reached()
    assert load_methods(toy, 1) == [0]
    assert "a run is in progress" in toy.shortloop("gc", "--delete").fails()
    toy.mend()
    for each in running:
        ran = toy.end(each)
        assert ran.status == 0, ran.said
        toy.check(ran, expected(nodes))
    assert len(toy.finished() - before) == len(nodes)  # none twice


@pytest.mark.slow
def test_many_that_load_the_methods_at_once(toy: DagProject) -> None:
    assert load_methods(toy, 4) == [0, 0, 0, 0]
    goes_on(toy, toy.new_chains(), set())


ALLOCATE = """
from concurrent.futures import ThreadPoolExecutor
from shortloop.exax.client import reload_methods
from accelerator.unixhttp import call
from shortloop.project.project import configuration

def allocate(number):
    return call(f"{configuration().url}/allocate_job?workdir=main")["jobid"]

with ThreadPoolExecutor(5) as pool:
    loading = [pool.submit(reload_methods) for _ in range(20)]
    jobs = list(pool.map(allocate, range(400)))
    for each in loading:
        each.result()
print(len(set(jobs)))
"""


@pytest.mark.slow
def test_jobs_that_begin_while_others_load_the_methods(toy: DagProject) -> None:
    """exax lists the workdir when it loads methods: no job's folder that is made then may be forgotten."""
    nodes = toy.new_chains()
    ran = toy.end(toy.start(sys.executable, "-c", ALLOCATE))
    assert (ran.status, ran.said) == (0, "400\n"), ran.said
    goes_on(toy, nodes, set())


def load_methods(toy: DagProject, times: int) -> list[int]:
    """Have exax load the methods anew, as each `ax run` does when it begins; exit statuses."""
    code = "from shortloop.exax.client import reload_methods; reload_methods()"
    started = [toy.start(sys.executable, "-c", code) for _ in range(times)]
    return [toy.end(each).status for each in started]


@pytest.mark.slow  # exax waits long for it
def test_a_slice_that_ends_without_a_word(toy: DagProject) -> None:
    nodes = toy.new_chains()
    before = toy.finished()
    toy.break_at("analysis", nodes[0].number, "exit")
    failed = toy.end(toy.start())
    assert failed.status == 1
    assert "the process that computed a unit ended" in failed.said
    assert "exit with status 0" in failed.said
    goes_on(toy, nodes, toy.finished() - before)
